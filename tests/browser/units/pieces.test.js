// Sentences of the service, taken apart.

import assert from "node:assert/strict";
import { test } from "node:test";

import { piecesOf } from "../../../src/forewarn/server/portal/story/sentence.js";

const ID = "6F84C433-A63A-4969-8076-5D91DB28B055";

test("a sentence without anything particular is one piece", () => {
  assert.deepEqual(piecesOf("It is over."), [{ kind: "text", text: "It is over." }]);
  assert.deepEqual(piecesOf(""), []);
});

test("times, ids and commands are found, and nothing else is lost", () => {
  const sentence = `Held by ${ID} until 2026-11-16 12:30:00 UTC (\`forewarn x\`).`;
  assert.deepEqual(piecesOf(sentence), [
    { kind: "text", text: "Held by " },
    { kind: "id", text: ID },
    { kind: "text", text: " until " },
    { kind: "time", text: "2026-11-16T12:30:00Z" },
    { kind: "text", text: " (" },
    { kind: "code", text: "forewarn x" },
    { kind: "text", text: ")." },
  ]);
});

test("an id in a command is part of the command", () => {
  const [piece, ...others] = piecesOf(`\`forewarn events retry ${ID}\``);
  assert.deepEqual(piece, { kind: "code", text: `forewarn events retry ${ID}` });
  assert.deepEqual(others, []);
});

test("a backtick alone is text", () => {
  assert.deepEqual(piecesOf("a ` b"), [{ kind: "text", text: "a ` b" }]);
});
