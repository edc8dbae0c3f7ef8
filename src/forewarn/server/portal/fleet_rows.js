// The rows of the fleet's grid: which there are, in which order, how much of each.

import { fitsName } from "./fleet_search.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./fleet_search.js").Found} Found */

/**
 * @typedef {object} Cell VMs side by side
 * @property {number | null} domain null: without update domain
 * @property {number[]} vms
 */

/**
 * @typedef {object} Row one group, or one host
 * @property {string} key
 * @property {number} at its place in the map, -1: VMs without a host
 * @property {string} name
 * @property {number} count how many VMs are shown
 * @property {number} total how many VMs it has
 * @property {boolean} isWide whether its one cell has the room of all
 * @property {Cell[]} cells
 */

/**
 * @typedef {object} Wish what is to be shown
 * @property {string} query
 * @property {Found | null} found null: nothing is looked for
 * @property {number | null} host whose VMs come first
 * @property {boolean} isOnly whether nothing else is shown
 */

export const MOST = 200; // squares of a row, unless more are asked for
const ROW = 10; // squares that cost as much to draw as a row

/**
 * List the groups, each with its VMs by update domain.
 * @param {FleetIndex} index
 * @param {Wish} wish
 * @returns {Row[]}
 */
export function rowsByGroup(index, wish) {
  const { map, ofGroup } = index;
  /** @type {Row[]} */
  const touched = [];
  /** @type {Row[]} */
  const others = [];
  ofGroup.forEach((all, at) => {
    const name = map.groups[at]?.name ?? "";
    const vms = shown(all, name, wish);
    if (vms === null) return;
    const isTouched = wish.host !== null && holds(map.vms.host, all, wish.host);
    if (wish.isOnly && !isTouched) return;
    const counts = { count: vms.length, total: all.length };
    const cells = cellsOf(index, vms, wish.host);
    const isWide = cells.length === 1 && cells[0]?.domain === null;
    const row = { key: `g${name}`, at, name, cells, isWide, ...counts };
    (isTouched ? touched : others).push(row);
  });
  return [...touched, ...others];
}

/**
 * List the hosts, each with its VMs group by group.
 * @param {FleetIndex} index
 * @param {Wish} wish
 * @returns {Row[]}
 */
export function rowsByHost(index, wish) {
  const { ofHost, homeless } = index;
  const all = ofHost.map((vms, at) => hostRow(index, at, vms, wish));
  const none = homeless.length ? [hostRow(index, -1, homeless, wish)] : [];
  const rows = [...all, ...none].filter((each) => each !== null);
  if (wish.host === null) return rows;
  const chosen = rows.filter((each) => each.at === wish.host);
  if (wish.isOnly) return chosen;
  return [...chosen, ...rows.filter((each) => each.at !== wish.host)];
}

/**
 * @param {FleetIndex} index
 * @param {number} at
 * @param {number[]} held
 * @param {Wish} wish
 * @returns {Row | null}
 */
function hostRow({ map }, at, held, wish) {
  const name = map.hosts[at] ?? "";
  const vms = shown(held, name, wish);
  if (vms === null) return null;
  const { group } = map.vms;
  vms.sort((one, other) => (group[one] ?? 0) - (group[other] ?? 0) || one - other);
  const cells = vms.length ? [{ domain: null, vms }] : [];
  const counts = { count: vms.length, total: held.length };
  return { key: `h${name}`, at, name, cells, isWide: true, ...counts };
}

/**
 * @param {number[]} all
 * @param {string} name
 * @param {Wish} wish
 * @returns {number[] | null} null: it is not what is looked for
 */
function shown(all, name, { found, query }) {
  if (found === null) return [...all];
  if (!all.length) return fitsName(name, query) ? [] : null;
  const vms = all.filter((vm) => found.vms[vm]);
  return vms.length ? vms : null;
}

/**
 * @param {(number | null)[]} hosts
 * @param {number[]} vms
 * @param {number} host
 */
function holds(hosts, vms, host) {
  return vms.some((vm) => hosts[vm] === host);
}

/**
 * @param {FleetIndex} index
 * @param {number[]} vms
 * @param {number | null} host whose VMs come first
 * @returns {Cell[]}
 */
function cellsOf({ map }, vms, host) {
  /** @type {Map<number | null, number[]>} */
  const byDomain = new Map();
  for (const vm of vms) {
    const domain = map.vms.update_domain[vm] ?? null;
    const same = byDomain.get(domain);
    if (same) same.push(vm);
    else byDomain.set(domain, [vm]);
  }
  const isOff = (/** @type {number} */ vm) => (map.vms.host[vm] === host ? 0 : 1);
  return [...byDomain]
    .sort(([one], [other]) => (one ?? Infinity) - (other ?? Infinity))
    .map(([domain, same]) => ({
      domain,
      vms: host === null ? same : same.sort((one, other) => isOff(one) - isOff(other)),
    }));
}

/**
 * List the update domains that need a column, none (null) the last.
 * @param {Row[]} rows
 * @returns {(number | null)[]}
 */
export function columnsOf(rows) {
  const domains = new Set();
  for (const { isWide, cells } of rows) {
    if (!isWide) for (const { domain } of cells) domains.add(domain ?? Infinity);
  }
  return [...domains]
    .sort((one, other) => one - other)
    .map((each) => (each === Infinity ? null : each));
}

/**
 * Say how many squares of each cell are drawn: all cells have their share of the room.
 * @param {Row} row
 * @param {number} room squares that the row may have
 */
export function roomOfCell({ cells, count }, room) {
  return count <= room ? room : Math.max(Math.floor(room / cells.length), 1);
}

/**
 * Say how many rows can be drawn at a cost.
 * @param {Row[]} rows
 * @param {number} cost in squares
 */
export function rowsFor(rows, cost) {
  let left = cost;
  let number = 0;
  while (number < rows.length && left > 0) {
    left -= ROW + Math.min(rows[number]?.count ?? 0, MOST);
    number += 1;
  }
  return number;
}
