// Stretches of time: zooming, moving, and what is written on the axis.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  fitted,
  panned,
  placeOf,
  stretchOf,
  ticksOf,
  zoomed,
} from "../../../src/forewarn/server/portal/timeline/scale.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.parse("2026-11-16T12:00:00Z");
const UTC = () => 0;
const HOURLY = { span: HOUR, middle: null };

/** @param {{at: number}[]} ticks */
const times = (ticks) => ticks.map(({ at }) => new Date(at).toISOString().slice(5, 16));

test("what is shown is around now, and goes on in steps", () => {
  const { from, to } = stretchOf(HOURLY, NOON + MINUTE);
  assert.equal(from, NOON - 30 * MINUTE);
  assert.equal(to, NOON + 30 * MINUTE);
  assert.equal(stretchOf(HOURLY, NOON + 3 * MINUTE).from, NOON - 27 * MINUTE);
});

test("what is shown stays where the viewer has gone, whatever the time", () => {
  const view = panned(HOURLY, -0.5, NOON);
  assert.equal(view.middle, NOON - 30 * MINUTE);
  assert.deepEqual(stretchOf(view, NOON), stretchOf(view, NOON + HOUR));
});

test("zooming goes on following now", () => {
  assert.deepEqual(zoomed(HOURLY, 0.5), { span: HOUR / 2, middle: null });
});

test("zooming around a moment leaves it where it is", () => {
  const at = NOON + 20 * MINUTE;
  const before = placeOf(at, stretchOf(HOURLY, NOON), 900);
  const near = stretchOf(zoomed(HOURLY, 0.3, at, NOON), NOON);
  assert.ok(Math.abs(placeOf(at, near, 900) - before) < 1e-6);
});

test("nobody gets lost by zooming", () => {
  assert.equal(zoomed(HOURLY, 1e-9).span, MINUTE);
  assert.equal(zoomed(HOURLY, 1e9).span, 60 * 24 * HOUR);
});

test("what is fitted is all in sight", () => {
  const { from, to } = stretchOf(fitted([NOON, NOON - HOUR, NOON + HOUR]), 0);
  assert.ok(from < NOON - HOUR && to > NOON + HOUR);
});

test("the axis has round times", () => {
  const stretch = { from: NOON - 7 * MINUTE, to: NOON + 53 * MINUTE };
  assert.deepEqual(times(ticksOf(stretch, 500, UTC)), [
    "11-16T12:00",
    "11-16T12:10",
    "11-16T12:20",
    "11-16T12:30",
    "11-16T12:40",
    "11-16T12:50",
  ]);
});

test("a wider picture has more times on its axis", () => {
  const stretch = { from: NOON, to: NOON + HOUR };
  assert.ok(ticksOf(stretch, 1500, UTC).length > ticksOf(stretch, 300, UTC).length);
});

test("days begin where the viewer is", () => {
  const stretch = { from: NOON - 24 * HOUR, to: NOON + 24 * HOUR };
  const days = ticksOf(stretch, 200, () => 9 * HOUR).filter((each) => each.isDay);
  assert.deepEqual(times(days), ["11-15T15:00", "11-16T15:00"]);
});

test("times on the axis stay round when summer time ends", () => {
  const change = Date.parse("2026-10-25T01:00:00Z");
  const berlin = (/** @type {number} */ at) => (at < change ? 2 : 1) * HOUR;
  const stretch = { from: change - 13 * HOUR, to: change + 23 * HOUR };
  assert.deepEqual(times(ticksOf(stretch, 250, berlin)), [
    "10-24T22:00",
    "10-25T11:00",
    "10-25T23:00",
  ]);
});
