// Sentences of the service, split into text, commands, times and ids.

import assert from "node:assert/strict";
import { test } from "node:test";

import { splitSentence } from "../../../src/forewarn/server/portal/story/sentence.js";

const ID = "6F84C433-A63A-4969-8076-5D91DB28B055";

test("a sentence without special parts is one piece", () => {
  const text = "It is over.";
  assert.deepEqual(splitSentence(text), [{ kind: "text", text }]);
  assert.deepEqual(splitSentence(""), []);
});

test("times, IDs and commands are separated from the text", () => {
  const sentence = `Held by ${ID} until 2026-11-16 12:30:00 UTC (\`forewarn x\`).`;
  assert.deepEqual(splitSentence(sentence), [
    { kind: "text", text: "Held by " },
    { kind: "id", text: ID },
    { kind: "text", text: " until " },
    { kind: "time", text: "2026-11-16T12:30:00Z" },
    { kind: "text", text: " (" },
    { kind: "code", text: "forewarn x" },
    { kind: "text", text: ")." },
  ]);
});

test("an ID in a command is part of the command", () => {
  const [piece, ...others] = splitSentence(`\`forewarn maintenance retry ${ID}\``);
  assert.deepEqual(piece, { kind: "code", text: `forewarn maintenance retry ${ID}` });
  assert.deepEqual(others, []);
});

test("a single backtick is text", () => {
  assert.deepEqual(splitSentence("a ` b"), [{ kind: "text", text: "a ` b" }]);
});
