// Lanes of the timeline: which there are, and what lies in each.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  firstLanes,
  hostsOf,
  lanesOf,
} from "../../../src/forewarn/server/portal/timeline/lanes.js";
import { anItem, at, MINUTE, NOON } from "./timeline_items.js";

const ASKED = {
  by: /** @type {const} */ ("group"),
  hostOf: new Map([
    ["web-0", "host-a"],
    ["db-0", "host-b"],
  ]),
  stretch: { from: NOON - 30 * MINUTE, to: NOON + 30 * MINUTE },
  now: NOON,
  search: "",
};
const BY_HOST = { ...ASKED, by: /** @type {const} */ ("host") };

/** @param {ReturnType<typeof lanesOf>} lanes */
const names = (lanes) => lanes.map((each) => each.name);

test("a maintenance of several groups is in the lane of each, with its event", () => {
  const lanes = lanesOf([anItem({ groups: ["web", "db"] })], ASKED);
  assert.deepEqual(names(lanes), ["db", "web"]);
  assert.deepEqual(
    lanes.map(({ bars }) => bars.map(({ events }) => events.map(({ id }) => id))),
    [[["e-db"]], [["e-web"]]],
  );
});

test("a host's maintenance is in its host's lane, with all events", () => {
  const [lane] = lanesOf([anItem({ host: "host-z", groups: ["web", "db"] })], BY_HOST);
  assert.equal(lane?.name, "host-z");
  assert.equal(lane?.bars[0]?.events.length, 2);
});

test("a maintenance of VMs is in the lanes of their hosts, or in that of none", () => {
  const groups = ["web", "db", "lone"];
  const item = anItem({ vms: groups.map((each) => `${each}-0`), groups });
  const lanes = lanesOf([item], BY_HOST);
  assert.deepEqual(names(lanes), ["host-a", "host-b", ""]);
  assert.deepEqual(
    lanes.map(({ bars }) => bars[0]?.events.map(({ group }) => group)),
    [["web"], ["db"], ["lone"]],
  );
});

test("only what reaches into the time shown is there", () => {
  const before = anItem({
    groups: ["before"],
    announced_at: at(-90),
    ended_at: at(-31),
  });
  const after = anItem({ groups: ["after"], announced_at: at(31), not_before: at(50) });
  const through = anItem({
    groups: ["through"],
    announced_at: at(-90),
    not_before: at(90),
  });
  assert.deepEqual(names(lanesOf([before, after, through], ASKED)), ["through"]);
});

test("lanes are in order of their numbers", () => {
  const items = ["web-10", "web-9", "db"].map((group) => anItem({ groups: [group] }));
  assert.deepEqual(names(lanesOf(items, ASKED)), ["db", "web-9", "web-10"]);
});

test("lanes are found by a part of their names, in any case", () => {
  const items = ["web", "db"].map((group) => anItem({ groups: [group] }));
  assert.deepEqual(names(lanesOf(items, { ...ASKED, search: " WE" })), ["web"]);
  const lone = anItem({ vms: ["lone-0"] });
  assert.deepEqual(names(lanesOf([lone], { ...BY_HOST, search: "no host" })), [""]);
});

test("what is live comes first, then what ended last", () => {
  const items = [
    anItem({ id: "older", announced_at: at(-20), ended_at: at(-9) }),
    anItem({ id: "newer", announced_at: at(-20), ended_at: at(-5) }),
    anItem({ id: "live", announced_at: at(-1) }),
  ];
  const [lane] = lanesOf(items, ASKED);
  assert.deepEqual(
    lane?.bars.map(({ id }) => id),
    ["live", "newer", "older"],
  );
});

test("only so many lanes are drawn at once, and so many bars", () => {
  const items = ["a", "b", "c"].map((group) => anItem({ groups: [group] }));
  const lanes = lanesOf(items, ASKED);
  assert.deepEqual(names(firstLanes(lanes, 2, 100)), ["a", "b"]);
  assert.deepEqual(names(firstLanes(lanes, 100, 1)), ["a"]);
  assert.deepEqual(names(firstLanes(lanes, 3, 3)), ["a", "b", "c"]);
});

test("where VMs run is read from the columns of the fleet", () => {
  const fleet = {
    position: 0,
    now: at(0),
    hosts: ["host-a", "host-b"],
    groups: [],
    vms: {
      name: ["one", "two", "three"],
      group: [0, 0, 0],
      host: [1, null, 0],
      update_domain: [null, null, null],
      spot: [false, false, false],
      asked: [null, null, null],
    },
  };
  const found = [...hostsOf(fleet)];
  assert.deepEqual(found, [
    ["one", "host-b"],
    ["three", "host-a"],
  ]);
});
