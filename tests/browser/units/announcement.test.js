// Announcement form: request body, errors, suggestions, and summary of a preview.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  announcementOf,
  earliestOf,
  EMPTY,
  suggest,
  addNames,
  summaryOf,
} from "../../../src/forewarn/server/portal/actions/announcement.js";

process.env.TZ = "Europe/Berlin";

/** @param {object} changed */
function bodyOf(changed) {
  const { body, errors } = announcementOf({ ...EMPTY, ...changed });
  assert.deepEqual(errors, {});
  return body;
}

/** @param {object} changed */
function errorsOf(changed) {
  return announcementOf({ ...EMPTY, ...changed }).errors;
}

test("typed names that are not in the list yet are sent", () => {
  const body = bodyOf({ vms: ["web-0"], typed: "web-1, web-0" });
  assert.deepEqual(body, { type: "Reboot", vms: ["web-0", "web-1"] });
});

test("only the chosen target is sent", () => {
  const filled = { vms: ["web-0"], host: " host-a ", group: "web" };
  const on = (/** @type {string} */ target) => bodyOf({ ...filled, target });
  assert.deepEqual(on("host"), { type: "Reboot", host: "host-a" });
  assert.deepEqual(on("group"), { type: "Reboot", group: "web" });
});

test("only the chosen time is sent", () => {
  const filled = { vms: ["a"], notice: "20m", not_before: "2030-01-01T01:00" };
  const at = (/** @type {string} */ timing) => bodyOf({ ...filled, timing });
  assert.deepEqual(at("minimum"), { type: "Reboot", vms: ["a"] });
  assert.equal(at("notice").notice_seconds, 1200);
  assert.equal(at("notice").not_before, undefined);
  assert.equal(at("not_before").not_before, "2030-01-01T00:00:00.000Z");
});

test("blockers can be ignored only in an emergency", () => {
  assert.equal(bodyOf({ vms: ["a"], ignoresBlockers: true }).ignore_blockers, undefined);
  const emergency = { vms: ["a"], isEmergency: true, ignoresBlockers: true };
  const { emergency: is, ignore_blockers: ignores } = bodyOf(emergency);
  assert.deepEqual([is, ignores], [true, true]);
});

test("a missing value is reported as an error on its field", () => {
  assert.deepEqual(Object.keys(errorsOf({})), ["target"]);
  assert.deepEqual(Object.keys(errorsOf({ target: "host" })), ["target"]);
  const timed = (/** @type {string} */ timing) => errorsOf({ vms: ["a"], timing });
  assert.deepEqual(Object.keys(timed("notice")), ["notice"]);
  assert.deepEqual(Object.keys(timed("not_before")), ["not_before"]);
});

test("names are added once, regardless of their separators", () => {
  assert.deepEqual(addNames(["a"], " b, a;c\td "), ["a", "b", "c", "d"]);
});

test("names that start with the typed text come first", () => {
  const names = ["a-web", "web-0", "WEB-1", "db"];
  assert.deepEqual(suggest(names, "web"), ["web-0", "WEB-1", "a-web"]);
  assert.deepEqual(suggest(names, "", 2), ["a-web", "web-0"]);
});

test("a preview is summarized, counting each group and VM once", () => {
  const event = (/** @type {string} */ group, /** @type {string[]} */ resources) =>
    /** @type {any} */ ({ group, resources });
  const maintenances = /** @type {any[]} */ ([
    { events: [event("web", ["web-0"]), event("db", ["db-0"])] },
    { events: [event("web", ["web-1"])] },
  ]);
  const summary = "2 maintenance operations, 3 events, 2 groups (web, db), 3 VMs";
  assert.equal(summaryOf(maintenances), summary);
});

test("the earliest NotBefore is found, with or without fractions of a second", () => {
  const maintenances = /** @type {any[]} */ ([
    { not_before: "2030-01-01T00:00:00.5Z" },
    { not_before: "2030-01-01T00:00:00Z" },
  ]);
  assert.equal(earliestOf(maintenances), "2030-01-01T00:00:00Z");
  assert.equal(earliestOf([]), null);
});
