// Bars of the timeline: start and end, layout, labels.

import assert from "node:assert/strict";
import { test } from "node:test";

import { barOf } from "../../../src/forewarn/server/portal/timeline/bars.js";
import {
  barLabel,
  barSentence,
  markTitle,
} from "../../../src/forewarn/server/portal/timeline/phrases.js";
import {
  slotOf,
  stackBars,
} from "../../../src/forewarn/server/portal/timeline/layout.js";
import { anItem, at, MINUTE, NOON } from "./timeline_items.js";

const ZONE = { timeZone: "UTC" };
const HOUR = { from: NOON - 30 * MINUTE, to: NOON + 30 * MINUTE };
const TAIL = 5 * MINUTE;

/** @param {object} [options] */
function aBar(options) {
  const item = anItem(options);
  return barOf(item, item.maintenance.events, NOON, TAIL);
}

test("a scheduled bar extends to its expected end", () => {
  const bar = aBar({ announced_at: at(-5), not_before: at(10), duration_seconds: 60 });
  assert.equal(bar.from, NOON - 5 * MINUTE);
  assert.equal(bar.work, NOON + 10 * MINUTE);
  assert.equal(bar.to, NOON + 11 * MINUTE);
  assert.ok(bar.isExpected && !bar.isOpen);
});

test("the work of a blocked bar starts now at the earliest", () => {
  const bar = aBar({ not_before: at(-2), duration_seconds: 60 });
  assert.equal(bar.work, NOON);
});

test("a started bar of unknown length has an open end after now", () => {
  const bar = aBar({ started_at: at(-3), duration_seconds: -1 });
  assert.equal(bar.work, NOON - 3 * MINUTE);
  assert.equal(bar.to, NOON + TAIL);
  assert.ok(bar.isOpen && !bar.isExpected);
});

test("a bar that takes longer than expected has an open end", () => {
  assert.ok(aBar({ started_at: at(-3), duration_seconds: 60 }).isOpen);
  assert.ok(!aBar({ started_at: at(-3), duration_seconds: 600 }).isOpen);
});

test("a canceled bar has no work", () => {
  const bar = aBar({ phase: "CANCELED", ended_at: at(-1), not_before: at(5) });
  assert.equal(bar.work, null);
  assert.equal(bar.to, NOON - MINUTE);
  assert.equal(bar.standing, "canceled");
});

test("a bar has the marks of its lane's events, in order of time", () => {
  const item = anItem({ groups: ["web", "db"], approved: { db: ["db-0", at(-1)] } });
  item.seen = [
    { event: "e-web", vm: "web-0", at: at(-2) },
    { event: "e-db", vm: "db-0", at: at(-3) },
  ];
  const [web, db] = item.maintenance.events.map((event) =>
    barOf(item, [event], NOON, TAIL).marks.map(({ kind, by }) => `${kind} ${by}`),
  );
  assert.deepEqual(web, ["seen web-0"]);
  assert.deepEqual(db, ["seen db-0", "approved db-0"]);
});

test("a bar is described in a sentence", () => {
  const bar = aBar({
    host: "host-a",
    not_before: at(15),
    approved: { web: ["web-0", at(-1)] },
  });
  assert.equal(
    barSentence(bar, NOON, ZONE),
    "Reboot of host-a, group web, scheduled, not before 12:15:00, approved by web-0",
  );
});

test("a sentence starts with what only the color shows", () => {
  const stuck = aBar({ started_at: at(-9), stuck_since: at(-1), not_before: at(-9) });
  assert.equal(
    barSentence(stuck, NOON, ZONE),
    "Stuck: Reboot of web-0, group web, not before 11:51:00, started 11:51:00",
  );
});

test("a sentence starts with the label of its bar", () => {
  for (const bar of [aBar(), aBar({ phase: "CANCELED", ended_at: at(-1) })]) {
    assert.ok(barSentence(bar, NOON).startsWith(barLabel(bar)));
  }
});

test("a mark names its VM and shows its time in the local zone and in UTC", () => {
  const [mark] = aBar({ approved: { web: ["web-0", at(0)] } }).marks;
  assert.ok(mark);
  assert.equal(
    markTitle([mark], NOON, { timeZone: "Asia/Tokyo" }),
    "approved by web-0, 21:00:00 (2026-11-16 12:00:00 UTC)",
  );
});

test("the pieces of a bar are at the positions of their times", () => {
  const options = { announced_at: at(-15), not_before: at(0), duration_seconds: 900 };
  const slot = slotOf(aBar(options), HOUR, 600);
  assert.equal(slot.left, 150);
  assert.deepEqual(slot.notice, { left: 0, width: 150 });
  assert.deepEqual(slot.work, { left: 150, width: 150 });
  assert.equal(slot.tick, 150);
});

test("a bar that started earlier is clipped at the left edge", () => {
  const options = { announced_at: at(-90), not_before: at(0), duration_seconds: 60 };
  const slot = slotOf(aBar(options), HOUR, 600);
  assert.equal(slot.left, 0);
  assert.deepEqual(slot.notice, { left: 0, width: 300 });
});

test("a bar at the right edge leaves room for its label", () => {
  const options = { announced_at: at(29), not_before: at(60), duration_seconds: 60 };
  const slot = slotOf(aBar(options), HOUR, 600);
  assert.equal(slot.left + slot.width, 600);
  assert.ok(slot.width >= 100);
  assert.equal(slot.work, null);
  assert.equal(slot.tick, null);
});

test("marks that are too close are drawn as one", () => {
  const item = anItem({ announced_at: at(-10), not_before: at(10) });
  const sights = [-5, -4.99, -1];
  item.seen = sights.map((minute) => ({
    event: "e-web",
    vm: `v${minute}`,
    at: at(minute),
  }));
  const bar = barOf(item, item.maintenance.events, NOON, TAIL);
  const { clusters } = slotOf(bar, HOUR, 600);
  assert.deepEqual(
    clusters.map(({ marks }) => marks.length),
    [2, 1],
  );
});

test("a bar without room for marks has no marks", () => {
  const week = { from: NOON - 5000 * MINUTE, to: NOON + 5000 * MINUTE };
  const bar = aBar({ approved: { web: ["web-0", at(1)] }, duration_seconds: 60 });
  assert.equal(slotOf(bar, HOUR, 600).clusters.length, 1);
  assert.equal(slotOf(bar, week, 600).clusters.length, 0);
});

test("overlapping bars are stacked; other bars share a row", () => {
  const early = aBar({ announced_at: at(-29), phase: "COMPLETED", ended_at: at(-25) });
  const late = aBar({ announced_at: at(5), not_before: at(20) });
  const long = aBar({ announced_at: at(-30), not_before: at(20) });
  const { slots, rows } = stackBars([early, late, long], HOUR, 600, 9);
  assert.equal(rows, 2);
  assert.deepEqual(
    slots.map(({ row }) => row),
    [1, 0, 0],
  );
});

test("bars beyond the last row are counted", () => {
  const bars = [1, 2, 3, 4].map(() => aBar());
  const { slots, rows, hidden } = stackBars(bars, HOUR, 600, 3);
  assert.deepEqual([slots.length, rows, hidden], [3, 3, 1]);
});
