// Words for who has seen an event, and who has approved it.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  approvedWords,
  durationWords,
  originOf,
  seenWords,
} from "../../../src/forewarn/server/portal/overview/phrases.js";
import { aMaintenance, anEvent } from "./items.js";

const sight = { event: "e0", vm: "web-0", at: "2026-11-16T12:00:00Z" };
const approved = (more) =>
  anEvent({ approved_at: "2026-11-16T12:01:00Z", approved_by: "web-0", ...more });

test("who has seen an event is counted", () => {
  const nobody = { touched: [], others: [], missing: ["web-0"] };
  assert.equal(seenWords(nobody), "not seen yet");
  const one = { touched: [sight], others: [], missing: ["web-1"] };
  assert.equal(seenWords(one), "seen by 1 of 2 VMs");
  const other = { touched: [], others: [sight], missing: ["web-1"] };
  assert.equal(seenWords(other), "seen by 0 of 1 VM, and 1 other");
});

test("an approval tells by whom and how", () => {
  const words = (more) => approvedWords(aMaintenance(), approved(more));
  const metadata = words({ approved_via: "metadata" });
  assert.equal(metadata, "approved by web-0, at the metadata endpoint");
  const policy = words({ approved_via: "policy" });
  assert.equal(policy, "approved beforehand, by the settings of the group");
  assert.equal(words({ approved_via: "new" }), "approved by web-0, via new");
});

test("what is not approved may still be, or not", () => {
  const words = (more, event) => approvedWords(aMaintenance(more), anEvent(event));
  assert.equal(words(), "not approved yet");
  assert.equal(words({ started_at: "2026-11-16T12:15:00Z" }), "not approved");
  assert.match(words({}, { status: null }), /^withdrawn/);
});

test("where a maintenance comes from is told, be the cause unknown", () => {
  assert.equal(originOf(aMaintenance()), "Platform: planned work on the platform");
  assert.equal(originOf(aMaintenance({ cause: "new" })), "Platform: new");
});

test("a duration may not be known", () => {
  assert.equal(durationWords(-1), "not known beforehand");
  assert.equal(durationWords(9), "9 s");
});
