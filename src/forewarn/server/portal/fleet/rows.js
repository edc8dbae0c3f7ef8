// The rows of the fleet's grid: which there are, in which order, how much of each.

import { fitsName } from "./search.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./search.js").Found} Found */

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
 * @property {number[]} vms those that are shown
 * @property {number} total how many VMs it has
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
    const row = { key: `g${name}`, at, name, vms, total: all.length };
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
  return wish.isOnly ? rows.filter((each) => each.at === wish.host) : rows;
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
  return { key: `h${name}`, at, name, vms, total: held.length };
}

/**
 * @param {number[]} all
 * @param {string} name
 * @param {Wish} wish
 * @returns {number[] | null} null: it is not what is looked for
 */
function shown(all, name, { found, query }) {
  if (found === null) return all;
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
 * Part the VMs of a group by update domain, those without one the last.
 * @param {FleetIndex} index
 * @param {number[]} vms
 * @param {number | null} host whose VMs come first
 * @returns {Cell[]}
 */
export function cellsOf({ map }, vms, host) {
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
 * Cut cells to the room of their row, of which all have their share.
 * @param {Cell[]} cells
 * @param {number} room squares that the row may have
 * @returns {{cells: Cell[], hidden: number}}
 */
export function fitted(cells, room) {
  const total = cells.reduce((sum, each) => sum + each.vms.length, 0);
  if (total <= room) return { cells, hidden: 0 };
  const share = Math.max(Math.floor(room / cells.length), 1);
  const cut = cells.map(({ domain, vms }) => ({ domain, vms: vms.slice(0, share) }));
  const left = cut.reduce((sum, each) => sum + each.vms.length, 0);
  return { cells: cut, hidden: total - left };
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
    left -= ROW + Math.min(rows[number]?.vms.length ?? 0, MOST);
    number += 1;
  }
  return number;
}
