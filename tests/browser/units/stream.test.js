// Server-sent events, however they are cut into pieces.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  Parser,
  readEvents,
} from "../../../src/forewarn/server/portal/service/stream.js";

const TEXT = [
  ": the journal of forewarn\n\n",
  'id: 7\nevent: Started\ndata: {"position": 7}\n\n',
  "id: 9\n\n",
  'event: clock\ndata: {"clock": "manual"}\n\n',
].join("");

const WHOLE = [
  { id: "7", event: "Started", data: '{"position": 7}' },
  { id: "9", event: "message", data: "" },
  { id: null, event: "clock", data: '{"clock": "manual"}' },
];

test("events are the same wherever the text is cut", () => {
  for (let cut = 0; cut <= TEXT.length; cut += 1) {
    const parser = new Parser();
    const found = [...parser.feed(TEXT.slice(0, cut)), ...parser.feed(TEXT.slice(cut))];
    assert.deepEqual(found, WHOLE, `cut at ${cut}`);
  }
});

test("an event without its end is not given out", () => {
  assert.deepEqual(new Parser().feed('id: 1\ndata: {"position": 1}\n'), []);
});

test("a sign of life is heard, though it is no event", async () => {
  let heard = 0;
  /** @type {unknown[]} */
  const taken = [];
  const body = new Blob([": still here\n\n"]).stream();
  await readEvents(
    body,
    () => (heard += 1),
    (sent) => taken.push(...sent),
  );
  assert.deepEqual([heard, taken], [1, []]);
});

test("a character that is cut in half comes whole", async () => {
  const bytes = new TextEncoder().encode('id: 1\ndata: "é"\n\n');
  const half = bytes.indexOf(0xc3) + 1;
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(bytes.slice(0, half));
      controller.enqueue(bytes.slice(half));
      controller.close();
    },
  });
  /** @type {string[]} */
  const taken = [];
  await readEvents(
    body,
    () => {},
    (sent) => taken.push(...sent.map((s) => s.data)),
  );
  assert.deepEqual(taken, ['"é"']);
});
