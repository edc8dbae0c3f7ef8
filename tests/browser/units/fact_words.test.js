// A sentence for every fact.

import assert from "node:assert/strict";
import { test } from "node:test";

import { wordsOf } from "../../../src/forewarn/server/portal/overview/phrases.js";
import { namesOf } from "../../../src/forewarn/server/portal/overview/phrases.js";
import { aMaintenance, anEntry, anItem } from "./items.js";

const nameOf = (id) => ({ m0: "Reboot of host-a", e0: "Reboot of host-a" })[id] ?? null;
const told = (fact, more) => wordsOf(anEntry(fact, more), nameOf);
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
  test(`${fact} is told: ${sentence}`, () => assert.equal(told(fact, more), sentence));
}

test("what is announced at once has no time to wait for", () => {
  const announced = aMaintenance({ not_before: "2026-11-16T12:00:00Z" });
  assert.match(told("Announced", of({ by: "admin", announced })), /, at once$/);
});

test("a kind of fact that is not known is told plainly", () => {
  const words = told("WorkPaused", of({ by: "admin", group: "web" }));
  assert.equal(words, "Reboot of host-a: work paused, group web, by admin");
});

test("a maintenance that is not known is called by its id", () => {
  assert.equal(told("Started", { maintenance: "m9" }), "Maintenance m9 started");
});

test("what a driver says is cut where it is too long", () => {
  const words = told("WorkFailed", of({ vms: [], detail: "x".repeat(500) }));
  assert.ok(words.length < 250 && words.endsWith("…)"), words);
});

test("maintenances are named by what is shown, and by what was announced", () => {
  const items = new Map([["m0", anItem()]]);
  const announced = aMaintenance({ id: "m1", type: "Freeze", events: [] });
  const names = namesOf(items, [anEntry("Announced", { announced })]);
  const found = ["m0", "e0", "m1", "m2"].map(names);
  const first = "Reboot of host-a";
  assert.deepEqual(found, [first, first, "Freeze of host-a", null]);
});
