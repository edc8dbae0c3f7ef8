// Sections of the overview, sightings, approvals and waits.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  approvalsOf,
  lastEnded,
  sectionsOf,
  shownWaits,
  sightingOf,
  summaryOf,
} from "../../../src/forewarn/server/portal/overview/sections.js";
import { anEvent, anItem } from "./items.js";

const at = (minute) => `2026-11-16T12:${String(minute).padStart(2, "0")}:00Z`;
const ids = (items) => items.map(({ maintenance }) => maintenance.id);
const wait = (kind) => ({
  kind,
  what: "",
  until: null,
  unblocked_by: [],
  held_by: null,
});

test("each item is in the section of its status", () => {
  const sections = sectionsOf([
    anItem({ id: "scheduled" }),
    anItem({ id: "blocked" }, { due: true }),
    anItem({ id: "started", started_at: at(1) }, { due: true }),
    anItem({ id: "stuck", started_at: at(1), stuck_since: at(2) }),
    anItem({ id: "over", ended_at: at(3) }),
  ]);
  for (const [name, items] of Object.entries(sections)) {
    assert.deepEqual(ids(items), [name]);
  }
});

test("the soonest or longest-lasting item comes first", () => {
  const { scheduled, started } = sectionsOf([
    anItem({ id: "later", not_before: at(40) }),
    anItem({ id: "sooner", not_before: at(20) }),
    anItem({ id: "young", started_at: at(9) }),
    anItem({ id: "old", started_at: at(3) }),
  ]);
  assert.deepEqual(ids(scheduled), ["sooner", "later"]);
  assert.deepEqual(ids(started), ["old", "young"]);
});

test("equal items stay in the order of announcement", () => {
  const { scheduled } = sectionsOf([anItem({ id: "b" }), anItem({ id: "a" })]);
  assert.deepEqual(ids(scheduled), ["b", "a"]);
});

test("the items that ended most recently are returned, latest first", () => {
  const ended = [3, 9, 1, 7, 5].map((minute) =>
    anItem({ id: String(minute), ended_at: at(minute) }),
  );
  assert.deepEqual(ids(lastEnded([anItem(), ...ended], 3)), ["9", "7", "5"]);
  assert.deepEqual(lastEnded([anItem()], 3), []);
});

test("sightings distinguish affected VMs from others", () => {
  const event = anEvent({ resources: ["web-0", "web-1"] });
  const seen = ["web-0", "web-2"].map((vm) => ({ event: "e0", vm, at: at(1) }));
  const other = { event: "e1", vm: "web-1", at: at(1) };
  const item = anItem({ events: [event] }, { seen: [...seen, other] });
  const { affected, others, missing } = sightingOf(item, event);
  assert.deepEqual(
    affected.map(({ vm }) => vm),
    ["web-0"],
  );
  assert.deepEqual(
    others.map(({ vm }) => vm),
    ["web-2"],
  );
  assert.deepEqual(missing, ["web-1"]);
});

test("a withdrawn event needs no approval", () => {
  const events = [
    anEvent({ id: "e0", approved_at: at(1) }),
    anEvent({ id: "e1" }),
    anEvent({ id: "e2", status: null }),
  ];
  assert.deepEqual(approvalsOf(anItem({ events })), { given: 1, needed: 2 });
});

test("only blockers are shown before the start; everything but approvals afterward", () => {
  const waits = [wait("approval"), wait("time"), wait("blocker"), wait("blocker")];
  const kinds = (item) => shownWaits(item).shown.map(({ kind }) => kind);
  assert.deepEqual(kinds(anItem({}, { waits })), ["blocker"]);
  assert.deepEqual(kinds(anItem({}, { waits, due: true })), ["blocker", "blocker"]);
  const work = { waits: [wait("work"), wait("time")] };
  assert.deepEqual(kinds(anItem({ started_at: at(1) }, work)), ["work", "time"]);
});

test("blockers that are not shown are counted", () => {
  const waits = [wait("blocker"), wait("blocker"), wait("blocker")];
  assert.equal(shownWaits(anItem({}, { waits })).more, 2);
});

test("the sections are summarized in a sentence", () => {
  assert.equal(summaryOf(sectionsOf([])), "No maintenance is announced.");
  const some = sectionsOf([anItem(), anItem(), anItem({}, { due: true })]);
  assert.equal(summaryOf(some), "0 stuck, 0 started, 1 blocked, 2 scheduled.");
});
