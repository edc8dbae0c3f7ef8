// What is sent of what was written, and lengths of time as people write them.

import assert from "node:assert/strict";
import { test } from "node:test";

import { secondsOf } from "../../../src/forewarn/server/portal/times.js";
import {
  bodyOf,
  OF_HOSTS,
  OF_MAINTENANCES,
  OF_VMS,
} from "../../../src/forewarn/server/portal/actions/catalog.js";

process.env.TZ = "Europe/Berlin";

test("a duration is written as on the command line", () => {
  const written = ["90", "90s", "20m", "2h30m", "1d", " 1h 5s ", "2H"];
  const seconds = [90, 90, 1200, 9000, 86_400, 3605, 7200];
  assert.deepEqual(written.map(secondsOf), seconds);
});

test("what is no duration is none", () => {
  const written = ["", " ", "soon", "-5", "1.5h", "30m2h", "5 minutes"];
  assert.deepEqual(
    written.map(secondsOf),
    written.map(() => null),
  );
});

test("what was left empty is not sent", () => {
  const { body, wrong } = bodyOf({ reason: "  ", duration: "", fails_by: "" });
  assert.deepEqual([body, wrong], [{}, {}]);
});

test("a time of the viewer's zone is sent in UTC", () => {
  const { body } = bodyOf({ fails_by: "2030-07-01T14:00" });
  assert.deepEqual(body, { fails_by: "2030-07-01T12:00:00.000Z" });
});

test("a duration is sent in seconds, or called wrong and not sent", () => {
  assert.deepEqual(bodyOf({ duration: "1h" }).body, { duration_seconds: 3600 });
  const { body, wrong } = bodyOf({ duration: "soon" });
  assert.deepEqual(body, {});
  assert.match(wrong.duration ?? "", /“soon” is not a duration/);
});

test("every order says what will happen, and to whom", () => {
  for (const orders of [OF_MAINTENANCES, OF_VMS, OF_HOSTS]) {
    for (const order of Object.values(orders)) {
      assert.match(order.says("web-0"), /web-0.*\.$/);
    }
  }
});
