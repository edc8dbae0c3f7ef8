// Time scale: zooming, panning, and ticks of the axis.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  fit,
  pan,
  positionOf,
  rangeOf,
  ticksOf,
  zoom,
} from "../../../src/forewarn/server/portal/timeline/scale.js";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const NOON = Date.parse("2026-11-16T12:00:00Z");
const UTC = () => 0;
const HOURLY = { span: HOUR, middle: null };

/** @param {{at: number}[]} ticks */
const times = (ticks) => ticks.map(({ at }) => new Date(at).toISOString().slice(5, 16));

test("the range follows now in steps", () => {
  const { from, to } = rangeOf(HOURLY, NOON + MINUTE);
  assert.equal(from, NOON - 30 * MINUTE);
  assert.equal(to, NOON + 30 * MINUTE);
  assert.equal(rangeOf(HOURLY, NOON + 3 * MINUTE).from, NOON - 27 * MINUTE);
});

test("a range that was moved does not follow now", () => {
  const view = pan(HOURLY, -0.5, NOON);
  assert.equal(view.middle, NOON - 30 * MINUTE);
  assert.deepEqual(rangeOf(view, NOON), rangeOf(view, NOON + HOUR));
});

test("a zoomed range still follows now", () => {
  assert.deepEqual(zoom(HOURLY, 0.5), { span: HOUR / 2, middle: null });
});

test("zooming keeps the given time in place", () => {
  const at = NOON + 20 * MINUTE;
  const before = positionOf(at, rangeOf(HOURLY, NOON), 900);
  const near = rangeOf(zoom(HOURLY, 0.3, at, NOON), NOON);
  assert.ok(Math.abs(positionOf(at, near, 900) - before) < 1e-6);
});

test("zooming has limits", () => {
  assert.equal(zoom(HOURLY, 1e-9).span, MINUTE);
  assert.equal(zoom(HOURLY, 1e9).span, 60 * 24 * HOUR);
});

test("a fitted view contains all its times", () => {
  const { from, to } = rangeOf(fit([NOON, NOON - HOUR, NOON + HOUR]), 0);
  assert.ok(from < NOON - HOUR && to > NOON + HOUR);
});

test("ticks are round times", () => {
  const range = { from: NOON - 7 * MINUTE, to: NOON + 53 * MINUTE };
  assert.deepEqual(times(ticksOf(range, 500, UTC)), [
    "11-16T12:00",
    "11-16T12:10",
    "11-16T12:20",
    "11-16T12:30",
    "11-16T12:40",
    "11-16T12:50",
  ]);
});

test("a wider chart has more ticks", () => {
  const range = { from: NOON, to: NOON + HOUR };
  assert.ok(ticksOf(range, 1500, UTC).length > ticksOf(range, 300, UTC).length);
});

test("days start at midnight in the viewer's time zone", () => {
  const range = { from: NOON - 24 * HOUR, to: NOON + 24 * HOUR };
  const days = ticksOf(range, 200, () => 9 * HOUR).filter(({ isDay }) => isDay);
  assert.deepEqual(times(days), ["11-15T15:00", "11-16T15:00"]);
});

test("ticks stay round when daylight saving time ends", () => {
  const change = Date.parse("2026-10-25T01:00:00Z");
  const berlin = (/** @type {number} */ at) => (at < change ? 2 : 1) * HOUR;
  const range = { from: change - 13 * HOUR, to: change + 23 * HOUR };
  assert.deepEqual(times(ticksOf(range, 250, berlin)), [
    "10-24T22:00",
    "10-25T11:00",
    "10-25T23:00",
  ]);
});
