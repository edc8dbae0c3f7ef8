// Status bar: steps of a manual clock, and descriptions of faults, limits and problems.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  describeClock,
  nextNotBefore,
  targetOf,
} from "../../../src/forewarn/server/portal/status_bar/clock_bar.js";
import {
  describeLimits,
  describeProblem,
  HealthBar,
  remainingOf,
  scopeOf,
} from "../../../src/forewarn/server/portal/status_bar/status_bar.js";

process.env.TZ = "UTC";

const NOON = Date.parse("2030-01-01T12:00:00Z");

/**
 * @param {string} not_before
 * @param {string | null} started_at
 */
function anItem(not_before, started_at = null) {
  return /** @type {any} */ ({ maintenance: { not_before, started_at } });
}

/** @param {object} more */
function aFault(more) {
  const plain = { on: "any", vms: [], left: null, left_seconds: null };
  return /** @type {any} */ ({ ...plain, ...more });
}

test("the next NotBefore ignores what has started", () => {
  const items = [
    anItem("2030-01-01T12:30:00Z"),
    anItem("2030-01-01T12:05:00Z", "2030-01-01T11:59:00Z"),
    anItem("2030-01-01T12:00:00Z"),
    anItem("2030-01-01T12:20:00Z"),
  ];
  assert.equal(nextNotBefore(items, NOON), "2030-01-01T12:20:00Z");
  assert.equal(nextNotBefore([], NOON), null);
});

test("a step is a target time or a number of seconds", () => {
  assert.equal(targetOf({ to: "2030-01-01T12:00:05Z" }, NOON), NOON + 5000);
  assert.equal(targetOf({ seconds: 60 }, NOON), NOON + 60_000);
});

test("each kind of clock is described", () => {
  assert.equal(describeClock("manual"), "paused until advanced");
  assert.equal(describeClock("x60"), "runs 60 times as fast as real time");
});

test("the scope of a fault is described", () => {
  assert.equal(scopeOf(aFault({})), "all requests from all VMs");
  const own = aFault({ on: "approve", vms: ["web-0", "web-1"] });
  assert.equal(scopeOf(own), "approvals from web-0, web-1");
});

test("the remainder of a fault is described", () => {
  assert.equal(remainingOf(aFault({}), 0), "until cleared");
  assert.equal(remainingOf(aFault({ left: 1 }), 0), "1 request left");
  const both = aFault({ left: 3, left_seconds: 90 });
  assert.equal(remainingOf(both, 30_000), "3 requests left, 1:00 left");
});

test("callers over their limits are described as the service reports them", () => {
  assert.equal(describeLimits([]), "");
  const limits = [
    { token: "a", text: "token a, 2 requests refused" },
    { token: "b", text: "token b, 1 request refused" },
  ];
  const text =
    "Limits exceeded: token a, 2 requests refused; token b, 1 request refused";
  assert.equal(describeLimits(limits), text);
});

test("a problem is described with its age", () => {
  const failing = { text: "writes are failing: disk full", seconds: 60 };
  assert.equal(describeProblem(failing, 5000), "writes are failing: disk full (for 1:05)");
  const warning = { text: "the clock is paused", seconds: null };
  assert.equal(describeProblem(warning, 5000), "the clock is paused");
});

test("problems are announced once, not each second", () => {
  const problems = ["writes are failing", "a thread has ended"].map((text) => ({
    text,
    seconds: 60,
  }));
  const [status, shown] = /** @type {any} */ (HealthBar({ problems })).props.children;
  assert.equal(status.props.role, "status");
  assert.equal(status.props.children, "writes are failing; a thread has ended");
  assert.equal(shown.props["aria-label"], "Service problems");
  const [none, nothing] = /** @type {any} */ (HealthBar({ problems: [] })).props.children;
  assert.deepEqual([none.props.children, nothing], ["", false]);
});
