// What is going on, in order of urgency.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  approvals,
  sightingOf,
  lastEnded,
  sectionsOf,
  summary,
  waitsTold,
} from "../../../src/forewarn/server/portal/overview/sections.js";
import { anEvent, anItem } from "./items.js";

const at = (minute) => `2026-11-16T12:${String(minute).padStart(2, "0")}:00Z`;
const ids = (items) => items.map((each) => each.maintenance.id);
const wait = (kind) => ({ kind, what: "", opens_at: null, opened_by: null });

test("each item is in the section that the service's word puts it in", () => {
  const sections = sectionsOf([
    anItem({ id: "scheduled" }),
    anItem({ id: "gate" }, { due: true }),
    anItem({ id: "started", started_at: at(1) }, { due: true }),
    anItem({ id: "stuck", started_at: at(1), stuck_since: at(2) }),
    anItem({ id: "over", ended_at: at(3) }),
  ]);
  const found = Object.entries(sections).map(([name, items]) => [name, ids(items)]);
  for (const [name, inside] of found) assert.deepEqual(inside, [name]);
});

test("what comes soonest, and what lasts longest, is first", () => {
  const { scheduled, started } = sectionsOf([
    anItem({ id: "later", not_before: at(40) }),
    anItem({ id: "sooner", not_before: at(20) }),
    anItem({ id: "young", started_at: at(9) }),
    anItem({ id: "old", started_at: at(3) }),
  ]);
  assert.deepEqual(ids(scheduled), ["sooner", "later"]);
  assert.deepEqual(ids(started), ["old", "young"]);
});

test("what is equal stays in the order of announcement", () => {
  const { scheduled } = sectionsOf([anItem({ id: "b" }), anItem({ id: "a" })]);
  assert.deepEqual(ids(scheduled), ["b", "a"]);
});

test("the few that ended last are found, the latest first", () => {
  const ended = [3, 9, 1, 7, 5].map((minute) =>
    anItem({ id: String(minute), ended_at: at(minute) }),
  );
  assert.deepEqual(ids(lastEnded([anItem(), ...ended], 3)), ["9", "7", "5"]);
  assert.deepEqual(lastEnded([anItem()], 3), []);
});

test("who has seen an event is told apart by whether it touches him", () => {
  const event = anEvent({ resources: ["web-0", "web-1"] });
  const seen = ["web-0", "web-2"].map((vm) => ({ event: "e0", vm, at: at(1) }));
  const other = { event: "e1", vm: "web-1", at: at(1) };
  const item = anItem({ events: [event] }, { seen: [...seen, other] });
  const { touched, others, missing } = sightingOf(item, event);
  assert.deepEqual(
    touched.map((each) => each.vm),
    ["web-0"],
  );
  assert.deepEqual(
    others.map((each) => each.vm),
    ["web-2"],
  );
  assert.deepEqual(missing, ["web-1"]);
});

test("an event that is withdrawn is not waited for", () => {
  const events = [
    anEvent({ id: "e0", approved_at: at(1) }),
    anEvent({ id: "e1" }),
    anEvent({ id: "e2", status: null }),
  ];
  assert.deepEqual(approvals(anItem({ events })), { given: 1, wanted: 2 });
});

test("before the start gates are told, afterwards all that it waits for", () => {
  const waits = [wait("approval"), wait("time"), wait("gate"), wait("gate")];
  const kinds = (item) => waitsTold(item).told.map((each) => each.kind);
  assert.deepEqual(kinds(anItem({}, { waits })), ["gate"]);
  assert.deepEqual(kinds(anItem({}, { waits, due: true })), ["gate", "gate"]);
  const work = { waits: [wait("work"), wait("time")] };
  assert.deepEqual(kinds(anItem({ started_at: at(1) }, work)), ["work", "time"]);
});

test("gates that are left out are counted", () => {
  const waits = [wait("gate"), wait("gate"), wait("gate")];
  assert.equal(waitsTold(anItem({}, { waits })).more, 2);
});

test("all is summed up in a sentence", () => {
  assert.equal(summary(sectionsOf([])), "Nothing is announced.");
  const some = sectionsOf([anItem(), anItem(), anItem({}, { due: true })]);
  assert.equal(summary(some), "0 stuck, 0 started, 1 at a gate, 2 scheduled.");
});
