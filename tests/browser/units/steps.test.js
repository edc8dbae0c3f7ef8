// How far the clock is moved, what faults do, and what came of what was asked.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  leftOf,
  whatOf,
  whomOf,
} from "../../../src/forewarn/server/portal/status_bar/status_bar.js";
import { outcomeOf } from "../../../src/forewarn/server/portal/actions/catalog.js";
import {
  kindOf,
  nextNotBefore,
  stepOf,
} from "../../../src/forewarn/server/portal/status_bar/clock_bar.js";

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
  const plain = { kind: "503", on: "any", vms: [], left: null, left_seconds: null };
  const rest = { probability: 1, delay_seconds: null, ...more };
  return /** @type {any} */ ({ ...plain, ...rest });
}

/** @param {object} more */
function aMaintenance(more) {
  const plain = { type: "Reboot", host: null, vms: ["web-0"], phase: "SCHEDULED" };
  return /** @type {any} */ ({
    ...plain,
    not_before: "2030-01-01T12:15:00Z",
    ...more,
  });
}

test("the next NotBefore is that of what has not started", () => {
  const items = [
    anItem("2030-01-01T12:30:00Z"),
    anItem("2030-01-01T12:05:00Z", "2030-01-01T11:59:00Z"),
    anItem("2030-01-01T12:00:00Z"),
    anItem("2030-01-01T12:20:00Z"),
  ];
  assert.equal(nextNotBefore(items, NOON), "2030-01-01T12:20:00Z");
  assert.equal(nextNotBefore([], NOON), null);
});

test("a step leads to a time, or by seconds from now", () => {
  assert.equal(stepOf({ to: "2030-01-01T12:00:05Z" }, NOON), NOON + 5000);
  assert.equal(stepOf({ seconds: 60 }, NOON), NOON + 60_000);
});

test("a clock says of what kind it is", () => {
  assert.equal(kindOf("manual"), "moves by hand");
  assert.equal(kindOf("x60"), "60 times as fast");
});

test("a fault says what it does, and to whom", () => {
  const slow = aFault({ kind: "slow", delay_seconds: 5, probability: 0.5 });
  assert.equal(whatOf(slow), "answered late by 5 s in 50 % of cases");
  assert.equal(whomOf(slow), "all requests of all VMs");
  const own = aFault({ on: "approve", vms: ["web-0", "web-1"] });
  assert.equal(whomOf(own), "approvals of web-0, web-1");
});

test("a fault says how much of it is left", () => {
  assert.equal(leftOf(aFault({}), 0), "until it is cleared");
  assert.equal(leftOf(aFault({ left: 1 }), 0), "1 request left");
  const both = aFault({ left: 3, left_seconds: 90 });
  assert.equal(leftOf(both, 30_000), "3 requests left, 1:00 left");
});

test("what came of it tells the phase, and the time of what is scheduled", () => {
  const said = (/** @type {any[]} */ ...made) => outcomeOf("restart", made, NOON);
  assert.equal(
    said(aMaintenance({})),
    "Scheduled: Reboot of web-0, not before 12:15:00.",
  );
  assert.equal(said(aMaintenance({ phase: "STARTED" })), "Started: Reboot of web-0.");
  const two = [aMaintenance({}), aMaintenance({ vms: ["web-1"] })];
  assert.equal(
    said(...two),
    "2 maintenances scheduled: Reboot of web-0, Reboot of web-1.",
  );
});

test("a host of which nothing was to tell is told of", () => {
  const said = outcomeOf("recovered", [], NOON);
  assert.equal(said, "Nothing to do: the host is neither degraded nor failed.");
});
