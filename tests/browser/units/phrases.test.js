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
const of = (more) => ({ maintenance: "m0", ...more });

const SENTENCES = [
  [
    "Announced",
    of({ by: "admin", announced: aMaintenance() }),
    "Reboot of host-a announced by admin, not before 2026-11-16 12:15:00 UTC",
  ],
  [
    "Approved",
    of({ by: "web-0", via: "metadata", group: "web" }),
    "web-0 approved Reboot of host-a for group web, at the metadata endpoint",
  ],
  [
    "Approved",
    of({ via: "policy", group: "web" }),
    "Reboot of host-a approved beforehand, by the settings of group web",
  ],
  [
    "VmsLeft",
    of({ vms: ["web-0"] }),
    "Reboot of host-a: web-0 left and will not be touched",
  ],
  [
    "Withdrawn",
    of({ group: "web" }),
    "Reboot of host-a withdrawn for group web: all its VMs have left",
  ],
  ["Started", of(), "Reboot of host-a started"],
  [
    "WorkBegan",
    of({ attempt: 2 }),
    "Reboot of host-a: the driver is called, attempt 2",
  ],
  [
    "WorkDone",
    of({ vms: ["web-0"], detail: "ok" }),
    "Reboot of host-a: web-0 done (ok)",
  ],
  [
    "WorkFailed",
    of({ vms: ["web-0"], detail: "no\nroom" }),
    "Reboot of host-a is stuck: the driver failed on web-0 (no room)",
  ],
  [
    "WorkPrinted",
    of({ output: "one\ntwo\n" }),
    "Reboot of host-a: the driver left to read: 2 lines, the last: two",
  ],
  ["WorkRetried", of(), "Reboot of host-a is tried again, by itself"],
  ["WorkEnded", of({ by: "admin" }), "Reboot of host-a said to be done, by admin"],
  ["Completed", of(), "Reboot of host-a completed"],
  [
    "Canceled",
    of({ by: "admin", reason: "rain" }),
    "Reboot of host-a canceled, by admin (rain)",
  ],
  ["Closed", of({ by: "admin" }), "Reboot of host-a given up, by admin"],
  [
    "Published",
    { audience: "web", group: "web", incarnation: 3 },
    "Group web has a new document, incarnation 3",
  ],
  [
    "Published",
    { audience: "web-0", group: "web", incarnation: 3 },
    "web-0 of group web has a new document, incarnation 3",
  ],
  ["Seen", { sights: [{ event: "e0", vm: "a" }] }, "a has seen Reboot of host-a"],
  [
    "Seen",
    { sights: ["e0", "e1", "e2"].map((event) => ({ event, vm: "a" })) },
    "a has seen 3 events",
  ],
  ["ListeningBegan", { group: "web" }, "Group web began to ask for events"],
  [
    "FleetChanged",
    { by: "admin", hosts: [{ name: "a" }, { name: "b" }], removed_vms: ["web-9"] },
    "admin put 2 hosts into the fleet and removed VM web-9",
  ],
  [
    "OutageEnded",
    { outage: { since: "2026-11-16T11:00:00Z" } },
    "The service is back; it was away since 2026-11-16 11:00:00 UTC",
  ],
  [
    "TokenCreated",
    { by: "admin", name: "ci", role: "viewer" },
    "admin gave out the token ci, role viewer",
  ],
  ["TokenRevoked", { name: "ci" }, "Token ci revoked, as its group is gone"],
  [
    "AccessRefused",
    { refusals: [{ address: "10.0.0.1", attempts: 3 }] },
    "Tokens that are none were refused: 3 from 10.0.0.1",
  ],
];

for (const [fact, more, sentence] of SENTENCES) {
  test(`${fact}: ${sentence}`, () => assert.equal(sentenceOf(fact, more), sentence));
}

test("an announcement without notice has no time", () => {
  const announced = aMaintenance({ not_before: "2026-11-16T12:00:00Z" });
  assert.match(sentenceOf("Announced", of({ by: "admin", announced })), /, at once$/);
});

test("an unknown kind of fact has a generic sentence", () => {
  const sentence = sentenceOf("WorkPaused", of({ by: "admin", group: "web" }));
  assert.equal(sentence, "Reboot of host-a: work paused, group web, by admin");
});

test("an unknown maintenance is named by its id", () => {
  const sentence = sentenceOf("Started", { maintenance: "m9" });
  assert.equal(sentence, "Maintenance m9 started");
});

test("a long driver message is shortened", () => {
  const sentence = sentenceOf("WorkFailed", of({ vms: [], detail: "x".repeat(500) }));
  assert.ok(sentence.length < 250 && sentence.endsWith("…)"), sentence);
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
  assert.equal(seenPhrase(other), "seen by 0 of 1 VM, and 1 other");
});

test("an approval names the approver and the API", () => {
  const phrase = (more) => approvalPhrase(aMaintenance(), approved(more));
  const metadata = phrase({ approved_via: "metadata" });
  assert.equal(metadata, "approved by web-0, at the metadata endpoint");
  const policy = phrase({ approved_via: "policy" });
  assert.equal(policy, "approved beforehand, by the settings of the group");
  assert.equal(phrase({ approved_via: "new" }), "approved by web-0, via new");
});

test("a missing approval is final after the start", () => {
  const phrase = (more, event) => approvalPhrase(aMaintenance(more), anEvent(event));
  assert.equal(phrase(), "not approved yet");
  assert.equal(phrase({ started_at: "2026-11-16T12:15:00Z" }), "not approved");
  assert.match(phrase({}, { status: null }), /^withdrawn/);
});

test("the origin of a maintenance is described, even if its cause is unknown", () => {
  assert.equal(originOf(aMaintenance()), "Platform: planned work on the platform");
  assert.equal(originOf(aMaintenance({ cause: "new" })), "Platform: new");
});

test("a duration may be unknown", () => {
  assert.equal(durationPhrase(-1), "not known beforehand");
  assert.equal(durationPhrase(9), "9 s");
});
