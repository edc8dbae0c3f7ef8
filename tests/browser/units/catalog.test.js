// Catalog of actions: request bodies, durations, effects and outcomes.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  bodyOf,
  HOST_ACTIONS,
  MAINTENANCE_ACTIONS,
  outcomeOf,
  VM_ACTIONS,
} from "../../../src/forewarn/server/portal/actions/catalog.js";
import { parseDuration } from "../../../src/forewarn/server/portal/times.js";

process.env.TZ = "Europe/Berlin";

const NOON = Date.parse("2030-01-01T12:00:00Z");

/** @param {object} more */
function aMaintenance(more) {
  const plain = { type: "Reboot", host: null, vms: ["web-0"], phase: "SCHEDULED" };
  return /** @type {any} */ ({
    ...plain,
    not_before: "2030-01-01T12:15:00Z",
    ...more,
  });
}

test("durations have the format of the command line", () => {
  const written = ["90", "90s", "20m", "2h30m", "1d", " 1h 5s ", "2H"];
  const seconds = [90, 90, 1200, 9000, 86_400, 3605, 7200];
  assert.deepEqual(written.map(parseDuration), seconds);
});

test("other strings are not durations", () => {
  const written = ["", " ", "soon", "-5", "1.5h", "30m2h", "5 minutes"];
  assert.deepEqual(
    written.map(parseDuration),
    written.map(() => null),
  );
});

test("empty fields are not sent", () => {
  const { body, errors } = bodyOf({ reason: "  ", duration: "", fails_by: "" });
  assert.deepEqual([body, errors], [{}, {}]);
});

test("a time in the viewer's time zone is sent in UTC", () => {
  const { body } = bodyOf({ fails_by: "2030-07-01T14:00" });
  assert.deepEqual(body, { fails_by: "2030-07-01T12:00:00.000Z" });
});

test("a duration is sent in seconds, or reported as an error", () => {
  assert.deepEqual(bodyOf({ duration: "1h" }).body, { duration_seconds: 3600 });
  const { body, errors } = bodyOf({ duration: "soon" });
  assert.deepEqual(body, {});
  assert.match(errors.duration ?? "", /“soon” is not a valid duration/);
});

test("every action describes its effect on its target", () => {
  for (const actions of [MAINTENANCE_ACTIONS, VM_ACTIONS, HOST_ACTIONS]) {
    for (const action of Object.values(actions)) {
      assert.match(action.effect("web-0"), /web-0.*\.$/);
    }
  }
});

test("an outcome names the phase, and the time if it is scheduled", () => {
  const outcome = (/** @type {any[]} */ ...maintenances) =>
    outcomeOf("restart", maintenances, NOON);
  assert.equal(
    outcome(aMaintenance({})),
    "Scheduled: Reboot of web-0, not before 13:15:00.",
  );
  const started = aMaintenance({ phase: "STARTED" });
  assert.equal(outcome(started), "Started: Reboot of web-0.");
  const two = [aMaintenance({}), aMaintenance({ vms: ["web-1"] })];
  assert.equal(
    outcome(...two),
    "Scheduled: 2 maintenance operations (Reboot of web-0, Reboot of web-1).",
  );
});

test("there is nothing to do for a healthy host that recovers", () => {
  const outcome = outcomeOf("recovered", [], NOON);
  assert.equal(outcome, "Nothing to do: the host is not marked as degraded or failed.");
});

test("the titles of groups that leave a degraded host differ", () => {
  const leaving = { type: "Redeploy", host: "host-a", cause: "degraded" };
  const outcome = outcomeOf(
    "degraded",
    ["db-0", "web-0"].map((vm) => aMaintenance({ ...leaving, vms: [vm] })),
    NOON,
  );
  const titles = "Redeploy of host-a (db-0), Redeploy of host-a (web-0)";
  assert.equal(outcome, `Scheduled: 2 maintenance operations (${titles}).`);
});
