// Parser of server-sent events.

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

test("messages are the same regardless of where the text is split", () => {
  for (let cut = 0; cut <= TEXT.length; cut += 1) {
    const parser = new Parser();
    const messages = [TEXT.slice(0, cut), TEXT.slice(cut)].flatMap((chunk) =>
      parser.feed(chunk),
    );
    assert.deepEqual(messages, WHOLE, `cut at ${cut}`);
  }
});

test("an incomplete message is not returned", () => {
  assert.deepEqual(new Parser().feed('id: 1\ndata: {"position": 1}\n'), []);
});

test("a keep-alive comment counts as activity, not as a message", async () => {
  let activity = 0;
  /** @type {unknown[]} */
  const received = [];
  const body = new Blob([": still here\n\n"]).stream();
  await readEvents(
    body,
    () => (activity += 1),
    (messages) => received.push(...messages),
  );
  assert.deepEqual([activity, received], [1, []]);
});

test("a character that is split between chunks is decoded", async () => {
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
  const received = [];
  await readEvents(
    body,
    () => {},
    (messages) => received.push(...messages.map(({ data }) => data)),
  );
  assert.deepEqual(received, ['"é"']);
});
