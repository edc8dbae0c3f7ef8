// What the fleet page shows: who is where, what is found, what a host would touch.

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  indexOf,
  wordsOf,
} from "../../../src/forewarn/server/portal/fleet/fleet_index.js";
import {
  markOfHost,
  marksOf,
  signOf,
} from "../../../src/forewarn/server/portal/fleet/marks.js";
import {
  defeats,
  headline,
  reachOf,
  sentenceOf,
} from "../../../src/forewarn/server/portal/fleet/impact.js";
import { search } from "../../../src/forewarn/server/portal/fleet/search.js";
import {
  cellsOf,
  fitted,
  rowsByGroup,
  rowsByHost,
  rowsFor,
} from "../../../src/forewarn/server/portal/fleet/rows.js";
import { aFleet, aLargeFleet } from "./a_fleet.js";

const index = indexOf(aFleet());
const ALL = { query: "", found: null, host: null, isOnly: false };

const namesOf = (vms) => vms.map((vm) => index.map.vms.name[vm]);

function found(query) {
  const fits = search(index, query)?.vms ?? [];
  return index.map.vms.name.filter((_, vm) => fits[vm]);
}

function wish(more) {
  const wished = { ...ALL, ...more };
  return { ...wished, found: search(index, wished.query) };
}

// --- who is where --------------------------------------------------------------

test("a VM is silent with its group, and unheard if only others of it ask", () => {
  const silences = ["web-0", "web-1", "web-2", "db-0"].map(
    (name) => index.silence[index.vmNamed.get(name)],
  );
  assert.deepEqual(silences, [null, "unheard", "unheard", "silent"]);
});

test("a square says all that it shows", () => {
  const words = "db-0, group db-0, no update domain, on host-a, silent";
  assert.equal(wordsOf(index, 3), words);
  const spot = "batch_1, group batch, update domain 2, no host, spot";
  assert.equal(wordsOf(index, 5), spot);
});

// --- search --------------------------------------------------------------------

test("nothing is looked for with no word", () => {
  assert.equal(search(index, "  "), null);
});

test("a word is looked for in the names of VMs, groups and hosts", () => {
  assert.deepEqual(found("WEB-1"), ["web-1"]);
  assert.deepEqual(found("host-a"), ["web-0", "web-2", "db-0"]);
  assert.deepEqual(found("batch"), ["batch_0", "batch_1"]);
});

test("every word must fit", () => {
  assert.deepEqual(found("web host-a"), ["web-0", "web-2"]);
});

test("silent, unheard and spot are looked for as well", () => {
  assert.deepEqual(found("silent"), ["db-0"]);
  assert.deepEqual(found("unheard"), ["web-1", "web-2"]);
  assert.deepEqual(found("spot"), ["batch_0", "batch_1"]);
});

test("update domain, host, group and VM are looked for by name", () => {
  assert.deepEqual(found("ud:1"), ["web-1", "web-2"]);
  assert.deepEqual(found("ud:none"), ["db-0", "batch_0"]);
  assert.deepEqual(found("host:host-b"), ["web-1", "batch_0"]);
  assert.deepEqual(found("group:we"), ["web-0", "web-1", "web-2"]);
  assert.deepEqual(found("vm:db"), ["db-0"]);
});

test("a name that is still being typed hides nothing", () => {
  assert.equal(search(index, "host:").count, 6);
});

test("words that objects have of themselves are but words", () => {
  assert.deepEqual(found("constructor"), []);
  assert.deepEqual(found("constructor:x"), []);
});

// --- rows ----------------------------------------------------------------------

test("a group has a cell for each update domain, none the last", () => {
  const cells = (group) =>
    cellsOf(index, index.ofGroup[group], null).map((each) => [
      each.domain,
      namesOf(each.vms),
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

test("VMs without update domain need a column only beside others of theirs", () => {
  assert.deepEqual(index.isParted, [true, false, true, false]);
  assert.deepEqual(index.columns, [0, 1, 2, null]);
  assert.deepEqual(indexOf(aLargeFleet(20, 2)).columns, [0, 1, 2, 3, 4]);
});

test("what is looked for is all that a row shows", () => {
  const rows = rowsByGroup(index, wish({ query: "web-1" }));
  assert.deepEqual(
    rows.map(({ name, vms, total }) => [name, namesOf(vms), total]),
    [["web", ["web-1"], 3]],
  );
});

test("a group without VMs is found by its name alone", () => {
  const names = (query) => rowsByGroup(index, wish({ query })).map((each) => each.name);
  assert.deepEqual(names(""), ["web", "db-0", "batch", "nobody"]);
  assert.deepEqual(names("nobod"), ["nobody"]);
  assert.deepEqual(names("spot"), ["batch"]);
});

test("what a host touches comes first, or alone", () => {
  const rows = (more) => rowsByGroup(index, wish({ host: 1, ...more }));
  const names = (more) => rows(more).map((each) => each.name);
  assert.deepEqual(names({}), ["web", "batch", "db-0", "nobody"]);
  assert.deepEqual(names({ isOnly: true }), ["web", "batch"]);
  const [, second] = cellsOf(index, index.ofGroup[0], 0);
  assert.deepEqual(namesOf(second.vms), ["web-2", "web-1"]);
});

test("hosts hold VMs group by group, those without a host the last", () => {
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

test("hosts stay where they are, whichever is chosen", () => {
  const rows = (more) => rowsByHost(index, wish({ host: 1, ...more }));
  const names = (more) => rows(more).map((each) => each.name);
  assert.deepEqual(names({}), ["host-a", "host-b", "host-c", ""]);
  assert.deepEqual(names({ isOnly: true }), ["host-b"]);
});

test("rows are drawn as far as their squares may cost", () => {
  const rows = rowsByGroup(indexOf(aLargeFleet(10_000, 100)), ALL);
  assert.equal(rows.length, 1000);
  assert.equal(rowsFor(rows, 400), 20);
  assert.equal(rowsFor(rows, 1e9), 1000);
});

test("a row that is too large shows a part of every cell", () => {
  const cells = [
    { domain: 0, vms: [1, 2, 3, 4] },
    { domain: 1, vms: [5] },
  ];
  assert.deepEqual(fitted(cells, 5), { cells, hidden: 0 });
  assert.deepEqual(fitted(cells, 4), {
    cells: [
      { domain: 0, vms: [1, 2] },
      { domain: 1, vms: [5] },
    ],
    hidden: 2,
  });
});

// --- reach ---------------------------------------------------------------------

test("a host says how much its maintenance would touch", () => {
  const said = [0, 1, 2].map((host) => headline(reachOf(index, host)));
  assert.deepEqual(said, [
    "Maintenance of host-a would touch 3 VMs of 2 groups at once.",
    "Maintenance of host-b would touch 2 VMs of 2 groups at once.",
    "Maintenance of host-c would touch nothing: no VM is there.",
  ]);
});

test("each group says what of it would be touched", () => {
  const { shares } = reachOf(index, 1);
  assert.deepEqual(
    shares.map((each) => [each.group, sentenceOf(each)]),
    [
      ["web", "update domain 1, 1 of 3 VMs"],
      ["batch", "1 of 2 VMs"],
    ],
  );
});

test("a placement that defeats update domains is said, and first", () => {
  const [web, db] = reachOf(index, 0).shares;
  const defeated = "loses two update domains at once: the placement defeats them";
  assert.equal(sentenceOf(web), `update domains 0 and 1, 2 of 3 VMs; ${defeated}`);
  assert.equal(sentenceOf(db), "its only VM");
});

test("hosts are named that would defeat update domains", () => {
  assert.deepEqual(defeats(index), ["host-a"]);
});

// --- marks ---------------------------------------------------------------------

function anItem(standing, resources, more = {}) {
  const events = [{ status: "Scheduled", resources }];
  return { standing, maintenance: { host: null, cause: "platform", events, ...more } };
}

const marked = (...items) => marksOf(items, (item) => item.standing);

test("a VM bears the most urgent of its marks", () => {
  const { ofVm } = marked(
    anItem("scheduled", ["web-0", "web-1"]),
    anItem("stuck", ["web-0"]),
    anItem("gate", ["web-0"]),
  );
  assert.deepEqual(
    [...ofVm],
    [
      ["web-0", "stuck"],
      ["web-1", "scheduled"],
    ],
  );
});

test("an event that is gone marks nobody", () => {
  const gone = { events: [{ status: null, resources: ["web-0"] }] };
  assert.equal(marked(anItem("scheduled", [], gone)).ofVm.size, 0);
});

test("a host bears the marks of its VMs, and its own condition", () => {
  const failed = { host: "host-b", cause: "host-failure" };
  const marks = marked(anItem("gate", ["db-0"]), anItem("started", [], failed));
  const marksOfHosts = [0, 1, 2].map((host) => markOfHost(index, marks, host));
  assert.deepEqual(marksOfHosts, ["gate", "started", undefined]);
  assert.deepEqual([...marks.conditions], [["host-b", "failed"]]);
});

test("the sign of a row differs if and only if a mark of it does", () => {
  const [web] = rowsByGroup(index, ALL);
  const sign = (marks) => signOf(web, index.map.vms.name, marks);
  const elsewhere = anItem("gate", ["db-0"]);
  const before = sign(marked(anItem("scheduled", ["web-1"]), elsewhere));
  assert.equal(before, ".S.");
  assert.equal(sign(marked(anItem("scheduled", ["web-1"]))), before);
  assert.equal(sign(marked(anItem("stuck", ["web-1"]))), ".!.");
});
