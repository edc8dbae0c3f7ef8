// Phrases: a sentence for every kind of fact, origin, sightings and approvals.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  approvalPhrase,
  durationPhrase,
  factSentence,
  namesOf,
  originOf,
  seenPhrase,
} from "../../../src/forewarn/server/portal/overview/phrases.js";
import { aMaintenance, anEntry, anEvent, anItem } from "./items.js";

const nameOf = (id) => ({ m0: "Reboot of host-a", e0: "Reboot of host-a" })[id] ?? null;
const sentenceOf = (fact, more) => factSentence(anEntry(fact, more), nameOf);

test("a fact about a maintenance operation names it", () => {
  const started = { text: "started" };
  const known = sentenceOf("Started", { maintenance: "m0", ...started });
  assert.equal(known, "Reboot of host-a: started");
  const unknown = sentenceOf("Started", { maintenance: "m9", ...started });
  assert.equal(unknown, "Maintenance m9: started");
});

test("an announcement and other facts begin with a capital letter", () => {
  const text = "announced by ops: Reboot of host-a";
  const announcement = sentenceOf("Announced", { maintenance: "m0", text });
  assert.equal(announcement, "Announced by ops: Reboot of host-a");
  assert.equal(sentenceOf("TokenRevoked", { text: "token x" }), "Token x");
});

test("titles come from the items, and from announcements in the journal", () => {
  const items = new Map([["m0", anItem()]]);
  const announced = aMaintenance({ id: "m1", type: "Freeze", events: [] });
  const names = namesOf(items, [anEntry("Announced", { announced })]);
  const titles = ["m0", "e0", "m1", "m2"].map(names);
  const first = "Reboot of host-a";
  assert.deepEqual(titles, [first, first, "Freeze of host-a", null]);
});

const sight = { event: "e0", vm: "web-0", at: "2026-11-16T12:00:00Z" };
const approved = (more) =>
  anEvent({ approved_at: "2026-11-16T12:01:00Z", approved_by: "web-0", ...more });

test("VMs that have seen an event are counted", () => {
  const none = { affected: [], others: [], missing: ["web-0"] };
  assert.equal(seenPhrase(none), "not seen yet");
  const one = { affected: [sight], others: [], missing: ["web-1"] };
  assert.equal(seenPhrase(one), "seen by 1 of 2 VMs");
  const other = { affected: [], others: [sight], missing: ["web-1"] };
  assert.equal(seenPhrase(other), "seen by 0 of 1 VM and 1 other");
});

test("an approval names the approver and the API", () => {
  const phrase = (more) => approvalPhrase(aMaintenance(), approved(more));
  const metadata = phrase({ approved_via: "metadata" });
  assert.equal(metadata, "approved by web-0 via the metadata endpoint");
  const policy = phrase({ approved_via: "policy" });
  assert.equal(policy, "approved in advance by the group's settings");
  assert.equal(phrase({ approved_via: "new" }), "approved by web-0 via new");
});

test("a missing approval is final after the start", () => {
  const phrase = (more, event) => approvalPhrase(aMaintenance(more), anEvent(event));
  assert.equal(phrase(), "not approved yet");
  assert.equal(phrase({ started_at: "2026-11-16T12:15:00Z" }), "not approved");
  assert.match(phrase({}, { status: null }), /^withdrawn/);
});

test("the origin of a maintenance is described, even if its cause is unknown", () => {
  assert.equal(originOf(aMaintenance()), "Platform: planned maintenance");
  assert.equal(originOf(aMaintenance({ cause: "new" })), "Platform: new");
});

test("a duration may be unknown", () => {
  assert.equal(durationPhrase(-1), "unknown");
  assert.equal(durationPhrase(9), "9 s");
});
