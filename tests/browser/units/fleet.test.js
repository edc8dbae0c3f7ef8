// Fleet page: index, search, rows, impact of host maintenance, and marks.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  indexOf,
  vmLabel,
} from "../../../src/forewarn/server/portal/fleet/fleet_index.js";
import {
  markOfHost,
  marksOf,
  marksKey,
} from "../../../src/forewarn/server/portal/fleet/marks.js";
import {
  hostsSpanningDomains,
  headline,
  impactOf,
  shareSentence,
} from "../../../src/forewarn/server/portal/fleet/impact.js";
import { search } from "../../../src/forewarn/server/portal/fleet/search.js";
import {
  cellsOf,
  fitCells,
  rowsByGroup,
  rowsByHost,
  rowsFor,
} from "../../../src/forewarn/server/portal/fleet/rows.js";
import { aFleet, aLargeFleet } from "./fleet_map.js";

const index = indexOf(aFleet());
const ALL = { query: "", matches: null, host: null, isOnly: false };

const namesOf = (vms) => vms.map((vm) => index.map.vms.name[vm]);

function matching(query) {
  const matches = search(index, query)?.vms ?? [];
  return index.map.vms.name.filter((_, vm) => matches[vm]);
}

function filter(more) {
  const options = { ...ALL, ...more };
  return { ...options, matches: search(index, options.query) };
}

// --- index ---------------------------------------------------------------------

test("a VM is disabled with its group, or not polling if only other VMs poll", () => {
  const silences = ["web-0", "web-1", "web-2", "db-0"].map(
    (name) => index.silence[index.vmByName.get(name)],
  );
  assert.deepEqual(silences, [null, "not-polling", "not-polling", "disabled"]);
});

test("the label of a square describes everything it shows", () => {
  const disabled = "db-0, group db-0, no update domain, on host-a";
  assert.equal(vmLabel(index, 3), `${disabled}, Scheduled Events disabled`);
  const spot = "batch_1, group batch, update domain 2, no host, spot, deallocated";
  assert.equal(vmLabel(index, 5), spot);
});

// --- search --------------------------------------------------------------------

test("an empty query has no result", () => {
  assert.equal(search(index, "  "), null);
});

test("a word matches names of VMs, groups and hosts", () => {
  assert.deepEqual(matching("WEB-1"), ["web-1"]);
  assert.deepEqual(matching("host-a"), ["web-0", "web-2", "db-0"]);
  assert.deepEqual(matching("batch"), ["batch_0", "batch_1"]);
});

test("every word must match", () => {
  assert.deepEqual(matching("web host-a"), ["web-0", "web-2"]);
});

test("disabled, not-polling and spot are search words", () => {
  assert.deepEqual(matching("disabled"), ["db-0"]);
  assert.deepEqual(matching("not-polling"), ["web-1", "web-2"]);
  assert.deepEqual(matching("spot"), ["batch_0", "batch_1"]);
});

test("update domain, host, group and VM can be searched as fields", () => {
  assert.deepEqual(matching("ud:1"), ["web-1", "web-2"]);
  assert.deepEqual(matching("ud:none"), ["db-0", "batch_0"]);
  assert.deepEqual(matching("host:host-b"), ["web-1", "batch_0"]);
  assert.deepEqual(matching("group:we"), ["web-0", "web-1", "web-2"]);
  assert.deepEqual(matching("vm:db"), ["db-0"]);
});

test("a field without a value matches everything", () => {
  assert.equal(search(index, "host:").count, 6);
});

test("names of object properties are ordinary words", () => {
  assert.deepEqual(matching("constructor"), []);
  assert.deepEqual(matching("constructor:x"), []);
});

// --- rows ----------------------------------------------------------------------

test("a group has a cell per update domain; VMs without one come last", () => {
  const cells = (group) =>
    cellsOf(index, index.ofGroup[group], null).map(({ domain, vms }) => [
      domain,
      namesOf(vms),
    ]);
  assert.deepEqual(cells(0), [
    [0, ["web-0"]],
    [1, ["web-1", "web-2"]],
  ]);
  assert.deepEqual(cells(2), [
    [2, ["batch_1"]],
    [null, ["batch_0"]],
  ]);
});

test("VMs without an update domain may need a column of their own", () => {
  assert.deepEqual(index.hasDomains, [true, false, true, false]);
  assert.deepEqual(index.columns, [0, 1, 2, null]);
  assert.deepEqual(indexOf(aLargeFleet(20, 2)).columns, [0, 1, 2, 3, 4]);
});

test("a row shows only matching VMs", () => {
  const rows = rowsByGroup(index, filter({ query: "web-1" }));
  assert.deepEqual(
    rows.map(({ name, vms, total }) => [name, namesOf(vms), total]),
    [["web", ["web-1"], 3]],
  );
});

test("a group without VMs matches by its name", () => {
  const rows = (query) => rowsByGroup(index, filter({ query }));
  const names = (query) => rows(query).map(({ name }) => name);
  assert.deepEqual(names(""), ["web", "db-0", "batch", "nobody"]);
  assert.deepEqual(names("nobod"), ["nobody"]);
  assert.deepEqual(names("spot"), ["batch"]);
});

test("groups on the chosen host are listed first, or exclusively", () => {
  const rows = (more) => rowsByGroup(index, filter({ host: 1, ...more }));
  const names = (more) => rows(more).map(({ name }) => name);
  assert.deepEqual(names({}), ["web", "batch", "db-0", "nobody"]);
  assert.deepEqual(names({ isOnly: true }), ["web", "batch"]);
  const [, second] = cellsOf(index, index.ofGroup[0], 0);
  assert.deepEqual(namesOf(second.vms), ["web-2", "web-1"]);
});

test("host rows list VMs by group; VMs without a host come last", () => {
  const rows = rowsByHost(index, ALL);
  assert.deepEqual(
    rows.map(({ name, vms }) => [name, namesOf(vms)]),
    [
      ["host-a", ["web-0", "web-2", "db-0"]],
      ["host-b", ["web-1", "batch_0"]],
      ["host-c", []],
      ["", ["batch_1"]],
    ],
  );
});

test("host rows keep their order when a host is chosen", () => {
  const rows = (more) => rowsByHost(index, filter({ host: 1, ...more }));
  const names = (more) => rows(more).map(({ name }) => name);
  assert.deepEqual(names({}), ["host-a", "host-b", "host-c", ""]);
  assert.deepEqual(names({ isOnly: true }), ["host-b"]);
});

test("rows are drawn up to a budget", () => {
  const rows = rowsByGroup(indexOf(aLargeFleet(10_000, 100)), ALL);
  assert.equal(rows.length, 1000);
  assert.equal(rowsFor(rows, 400), 20);
  assert.equal(rowsFor(rows, 1e9), 1000);
});

test("a large row shows part of every cell", () => {
  const cells = [
    { domain: 0, vms: [1, 2, 3, 4] },
    { domain: 1, vms: [5] },
  ];
  assert.deepEqual(fitCells(cells, 5), { cells, hidden: 0 });
  assert.deepEqual(fitCells(cells, 4), {
    cells: [
      { domain: 0, vms: [1, 2] },
      { domain: 1, vms: [5] },
    ],
    hidden: 2,
  });
});

// --- impact --------------------------------------------------------------------

test("a deallocated VM is not affected by maintenance on its host", () => {
  const fleet = aFleet();
  fleet.vms.deallocated[2] = true; // web-2, whose update domain is not that of web-0
  const { vms, shares } = impactOf(indexOf(fleet), 0);
  assert.equal(vms, 2);
  const web = shares.find(({ group }) => group === "web");
  assert.deepEqual([web?.vms, web?.spansDomains], [1, false]);
});

test("the impact of a host is summarized", () => {
  const headlines = [0, 1, 2].map((host) => headline(impactOf(index, host)));
  assert.deepEqual(headlines, [
    "Maintenance on host-a would affect 3 VMs in 2 groups.",
    "Maintenance on host-b would affect 2 VMs in 2 groups.",
    "Maintenance on host-c would affect nothing: no VMs run there.",
  ]);
});

test("the impact on each group is described", () => {
  const { shares } = impactOf(index, 1);
  assert.deepEqual(
    shares.map((share) => [share.group, shareSentence(share)]),
    [
      ["web", "update domain 1, 1 of 3 VMs"],
      ["batch", "1 of 2 VMs"],
    ],
  );
});

test("groups that span update domains come first, with a warning", () => {
  const [web, db] = impactOf(index, 0).shares;
  const defeated = "would lose two update domains at the same time";
  assert.equal(shareSentence(web), `update domains 0 and 1, 2 of 3 VMs; ${defeated}`);
  assert.equal(shareSentence(db), "its only VM");
});

test("hosts that would take down several update domains are listed", () => {
  assert.deepEqual(hostsSpanningDomains(index), ["host-a"]);
});

// --- marks ---------------------------------------------------------------------

function anItem(standing, resources, more = {}) {
  const events = [{ status: "Scheduled", resources }];
  return { standing, maintenance: { host: null, cause: "platform", events, ...more } };
}

const marked = (...items) => marksOf(items, (item) => item.standing);

test("a VM has its most urgent mark", () => {
  const { ofVm } = marked(
    anItem("scheduled", ["web-0", "web-1"]),
    anItem("stuck", ["web-0"]),
    anItem("blocked", ["web-0"]),
  );
  assert.deepEqual(
    [...ofVm],
    [
      ["web-0", "stuck"],
      ["web-1", "scheduled"],
    ],
  );
});

test("a withdrawn event does not mark any VM", () => {
  const gone = { events: [{ status: null, resources: ["web-0"] }] };
  assert.equal(marked(anItem("scheduled", [], gone)).ofVm.size, 0);
});

test("a host has the marks of its VMs and its own condition", () => {
  const failed = { host: "host-b", cause: "host-failure" };
  const marks = marked(anItem("blocked", ["db-0"]), anItem("started", [], failed));
  const marksOfHosts = [0, 1, 2].map((host) => markOfHost(index, marks, host));
  assert.deepEqual(marksOfHosts, ["blocked", "started", undefined]);
  assert.deepEqual([...marks.conditions], [["host-b", "failed"]]);
});

test("the key of a row changes if and only if one of its marks changes", () => {
  const [web] = rowsByGroup(index, ALL);
  const key = (marks) => marksKey(web, index.map.vms.name, marks);
  const elsewhere = anItem("blocked", ["db-0"]);
  const before = key(marked(anItem("scheduled", ["web-1"]), elsewhere));
  assert.equal(before, ".S.");
  assert.equal(key(marked(anItem("scheduled", ["web-1"]))), before);
  assert.equal(key(marked(anItem("stuck", ["web-1"]))), ".!.");
});
