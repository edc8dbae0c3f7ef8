// Times, durations and the service's clock.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  rateOf,
  ServiceClock,
} from "../../../src/forewarn/server/portal/service/clock.js";
import {
  countdown,
  fromNow,
  local,
  span,
  utc,
} from "../../../src/forewarn/server/portal/times.js";

const NOON = Date.parse("2026-11-16T12:00:00Z");
const ZONE = { timeZone: "Asia/Tokyo" };

test("a countdown rounds up to the next second", () => {
  const lengths = [0, 1, 1000, 59_000, 60_000, 899_001, 3_723_000, 90_061_000];
  assert.deepEqual(lengths.map(countdown), [
    "0:00",
    "0:01",
    "0:01",
    "0:59",
    "1:00",
    "15:00",
    "1:02:03",
    "1 d 1:01:01",
  ]);
  assert.equal(countdown(-5000), "0:00");
});

test("a span has at most two units", () => {
  const lengths = [4400, 60_000, 59.6 * 60_000, 12_000_000, 7_200_000, 187_200_000];
  const texts = ["4 s", "1 min", "1 h", "3 h 20 min", "2 h", "2 d 4 h"];
  assert.deepEqual(lengths.map(span), texts);
});

test("the distance from now is described", () => {
  assert.equal(fromNow(NOON + 720_000, NOON), "in 12 min");
  assert.equal(fromNow("2026-11-16T11:00:00Z", NOON), "1 h ago");
  assert.equal(fromNow(NOON + 400, NOON), "now");
});

test("a time is shown in the viewer's time zone and in UTC", () => {
  assert.equal(local(NOON, NOON, ZONE), "21:00:00");
  assert.equal(local(NOON + 4 * 3_600_000, NOON, ZONE), "17 Nov 2026 01:00:00");
  assert.equal(utc(NOON), "2026-11-16 12:00:00 UTC");
});

test("the service's clock runs at its own rate", () => {
  let elapsed = 100;
  const read = (/** @type {string} */ name) => {
    elapsed = 100;
    const clock = new ServiceClock(name, NOON, () => elapsed);
    elapsed = 600;
    return clock.now() - NOON;
  };
  assert.deepEqual(["system", "x60", "manual"].map(read), [500, 30_000, 0]);
  assert.equal(rateOf("x2.5"), 2.5);
});
