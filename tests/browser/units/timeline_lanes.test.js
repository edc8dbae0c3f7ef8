// Lanes of the timeline: names, order and bars.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  firstLanes,
  hostsOf,
  lanesOf,
} from "../../../src/forewarn/server/portal/timeline/lanes.js";
import { anItem, at, MINUTE, NOON } from "./timeline_items.js";

const BY_GROUP = {
  by: /** @type {const} */ ("group"),
  hostOf: new Map([
    ["web-0", "host-a"],
    ["db-0", "host-b"],
  ]),
  range: { from: NOON - 30 * MINUTE, to: NOON + 30 * MINUTE },
  now: NOON,
  search: "",
};
const BY_HOST = { ...BY_GROUP, by: /** @type {const} */ ("host") };

/** @param {ReturnType<typeof lanesOf>} lanes */
const names = (lanes) => lanes.map(({ name }) => name);

test("maintenance in several groups is in each group's lane, with its event", () => {
  const lanes = lanesOf([anItem({ groups: ["web", "db"] })], BY_GROUP);
  assert.deepEqual(names(lanes), ["db", "web"]);
  assert.deepEqual(
    lanes.map(({ bars }) => bars.map(({ events }) => events.map(({ id }) => id))),
    [[["e-db"]], [["e-web"]]],
  );
});

test("a group's lane has all its events", () => {
  const [lane, ...rest] = lanesOf([anItem({ groups: ["web", "web"] })], BY_GROUP);
  assert.deepEqual(rest, []);
  assert.equal(lane?.bars[0]?.events.length, 2);
});

test("a host's maintenance is in its host's lane, with all events", () => {
  const [lane] = lanesOf([anItem({ host: "host-z", groups: ["web", "db"] })], BY_HOST);
  assert.equal(lane?.name, "host-z");
  assert.equal(lane?.bars[0]?.events.length, 2);
});

test("VM maintenance is in the lanes of the VMs' hosts", () => {
  const groups = ["web", "db", "lone"];
  const item = anItem({ vms: groups.map((group) => `${group}-0`), groups });
  const lanes = lanesOf([item], BY_HOST);
  assert.deepEqual(names(lanes), ["host-a", "host-b", ""]);
  assert.deepEqual(
    lanes.map(({ bars }) => bars[0]?.events.map(({ group }) => group)),
    [["web"], ["db"], ["lone"]],
  );
});

test("only bars that overlap the range are shown", () => {
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
  assert.deepEqual(names(lanesOf([before, after, through], BY_GROUP)), ["through"]);
});

test("lanes are sorted by the numbers in their names", () => {
  const items = ["web-10", "web-9", "db"].map((group) => anItem({ groups: [group] }));
  assert.deepEqual(names(lanesOf(items, BY_GROUP)), ["db", "web-9", "web-10"]);
});

test("the search matches part of a name, ignoring case", () => {
  const items = ["web", "db"].map((group) => anItem({ groups: [group] }));
  assert.deepEqual(names(lanesOf(items, { ...BY_GROUP, search: " WE" })), ["web"]);
  const lone = anItem({ vms: ["lone-0"] });
  assert.deepEqual(names(lanesOf([lone], { ...BY_HOST, search: "no host" })), [""]);
});

test("live bars come first, followed by the most recently ended bars", () => {
  const items = [
    anItem({ id: "older", announced_at: at(-20), ended_at: at(-9) }),
    anItem({ id: "newer", announced_at: at(-20), ended_at: at(-5) }),
    anItem({ id: "live", announced_at: at(-1) }),
  ];
  const [lane] = lanesOf(items, BY_GROUP);
  assert.deepEqual(
    lane?.bars.map(({ id }) => id),
    ["live", "newer", "older"],
  );
});

test("the number of lanes and bars drawn at once is limited", () => {
  const items = ["a", "b", "c"].map((group) => anItem({ groups: [group] }));
  const lanes = lanesOf(items, BY_GROUP);
  assert.deepEqual(names(firstLanes(lanes, 2, 100)), ["a", "b"]);
  assert.deepEqual(names(firstLanes(lanes, 100, 1)), ["a"]);
  assert.deepEqual(names(firstLanes(lanes, 3, 3)), ["a", "b", "c"]);
});

test("the host of each VM is read from the fleet map", () => {
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
      deallocated: [false, false, false],
      last_request: [null, null, null],
    },
  };
  assert.deepEqual([...hostsOf(fleet)], [
    ["one", "host-b"],
    ["three", "host-a"],
  ]);
});
