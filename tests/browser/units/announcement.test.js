// A form of an announcement becomes what is sent; a preview becomes a sentence.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  announcementOf,
  earliestOf,
  EMPTY,
  fitting,
  joined,
  summaryOf,
} from "../../../src/forewarn/server/portal/actions/announcement.js";

process.env.TZ = "Europe/Berlin";

/** @param {object} changed */
function sent(changed) {
  const { body, wrong } = announcementOf({ ...EMPTY, ...changed });
  assert.deepEqual(wrong, {});
  return body;
}

/** @param {object} changed */
function wrongOf(changed) {
  return announcementOf({ ...EMPTY, ...changed }).wrong;
}

test("names that were typed and not taken in yet are sent as well", () => {
  const body = sent({ vms: ["web-0"], typed: "web-1, web-0" });
  assert.deepEqual(body, { type: "Reboot", vms: ["web-0", "web-1"] });
});

test("only the target that is chosen is sent", () => {
  const filled = { vms: ["web-0"], host: " host-a ", group: "web" };
  const on = (/** @type {string} */ target) => sent({ ...filled, target });
  assert.deepEqual(on("host"), { type: "Reboot", host: "host-a" });
  assert.deepEqual(on("group"), { type: "Reboot", group: "web" });
});

test("only the time that is chosen is sent", () => {
  const filled = { vms: ["a"], notice: "20m", not_before: "2030-01-01T01:00" };
  const at = (/** @type {string} */ timing) => sent({ ...filled, timing });
  assert.deepEqual(at("minimum"), { type: "Reboot", vms: ["a"] });
  assert.equal(at("notice").notice_seconds, 1200);
  assert.equal(at("notice").not_before, undefined);
  assert.equal(at("not_before").not_before, "2030-01-01T00:00:00.000Z");
});

test("gates can be ignored only in an emergency", () => {
  assert.equal(sent({ vms: ["a"], ignoresGates: true }).ignore_gates, undefined);
  const emergency = { vms: ["a"], isEmergency: true, ignoresGates: true };
  const { emergency: is, ignore_gates: ignores } = sent(emergency);
  assert.deepEqual([is, ignores], [true, true]);
});

test("what is missing is told beside its field", () => {
  assert.deepEqual(Object.keys(wrongOf({})), ["target"]);
  assert.deepEqual(Object.keys(wrongOf({ target: "host" })), ["target"]);
  const timed = (/** @type {string} */ timing) => wrongOf({ vms: ["a"], timing });
  assert.deepEqual(Object.keys(timed("notice")), ["notice"]);
  assert.deepEqual(Object.keys(timed("not_before")), ["not_before"]);
});

test("names are taken in once, however they are separated", () => {
  assert.deepEqual(joined(["a"], " b, a;c\td "), ["a", "b", "c", "d"]);
});

test("names that begin with what was typed come first", () => {
  const names = ["a-web", "web-0", "WEB-1", "db"];
  assert.deepEqual(fitting(names, "web"), ["web-0", "WEB-1", "a-web"]);
  assert.deepEqual(fitting(names, "", 2), ["a-web", "web-0"]);
});

test("a preview is summed up, each group and VM once", () => {
  const event = (/** @type {string} */ group, /** @type {string[]} */ resources) =>
    /** @type {any} */ ({ group, resources });
  const made = /** @type {any[]} */ ([
    { events: [event("web", ["web-0"]), event("db", ["db-0"])] },
    { events: [event("web", ["web-1"])] },
  ]);
  assert.equal(summaryOf(made), "2 maintenances, 3 events, 2 groups (web, db), 3 VMs");
});

test("the earliest NotBefore is found, whatever its fraction", () => {
  const made = /** @type {any[]} */ ([
    { not_before: "2030-01-01T00:00:00.5Z" },
    { not_before: "2030-01-01T00:00:00Z" },
  ]);
  assert.equal(earliestOf(made), "2030-01-01T00:00:00Z");
  assert.equal(earliestOf([]), null);
});
