// Rows of the fleet grid: selection, order, and the number of squares drawn.

import { matchesName } from "./search.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./search.js").SearchResult} SearchResult */

/**
 * @typedef {object} Cell VMs of one update domain
 * @property {number | null} domain null for VMs without one
 * @property {number[]} vms
 */

/**
 * @typedef {object} Row one group or one host
 * @property {string} key
 * @property {number} at its index in the map; -1 for VMs without a host
 * @property {string} name
 * @property {number[]} vms the VMs that match the filter
 * @property {number} total number of all its VMs
 */

/**
 * @typedef {object} RowFilter
 * @property {string} query
 * @property {SearchResult | null} matches null if there is no query
 * @property {number | null} host the host whose groups come first; null for none
 * @property {boolean} isOnly whether to show only its groups
 */

export const MOST_SQUARES = 200; // per row, until the user expands it
const ROW_COST = 10; // cost of an empty row, in squares

/**
 * Return a row for each group.
 * @param {FleetIndex} index
 * @param {RowFilter} filter
 * @returns {Row[]}
 */
export function rowsByGroup(index, filter) {
  const { map, ofGroup } = index;
  /** @type {Row[]} */
  const affected = [];
  /** @type {Row[]} */
  const others = [];
  ofGroup.forEach((all, at) => {
    const name = map.groups[at]?.name ?? "";
    const vms = matchingVms(all, name, filter);
    if (vms === null) return;
    const isAffected = filter.host !== null && holds(map.vms.host, all, filter.host);
    if (filter.isOnly && !isAffected) return;
    const row = { key: `g${name}`, at, name, vms, total: all.length };
    (isAffected ? affected : others).push(row);
  });
  return [...affected, ...others];
}

/**
 * Return a row for each host, with its VMs sorted by group.
 * @param {FleetIndex} index
 * @param {RowFilter} filter
 * @returns {Row[]}
 */
export function rowsByHost(index, filter) {
  const { ofHost, unplaced } = index;
  const all = ofHost.map((vms, at) => hostRow(index, at, vms, filter));
  const none = unplaced.length ? [hostRow(index, -1, unplaced, filter)] : [];
  const rows = [...all, ...none].filter((row) => row !== null);
  return filter.isOnly ? rows.filter(({ at }) => at === filter.host) : rows;
}

/**
 * @param {FleetIndex} index
 * @param {number} at
 * @param {number[]} held
 * @param {RowFilter} filter
 * @returns {Row | null}
 */
function hostRow({ map }, at, held, filter) {
  const name = map.hosts[at] ?? "";
  const vms = matchingVms(held, name, filter);
  if (vms === null) return null;
  return { key: `h${name}`, at, name, vms, total: held.length };
}

/**
 * @param {number[]} all
 * @param {string} name
 * @param {RowFilter} filter
 * @returns {number[] | null} null if the row does not match
 */
function matchingVms(all, name, { matches, query }) {
  if (matches === null) return all;
  if (!all.length) return matchesName(name, query) ? [] : null;
  const vms = all.filter((vm) => matches.vms[vm]);
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
 * Split a group's VMs by update domain; VMs without one come last.
 * @param {FleetIndex} index
 * @param {number[]} vms
 * @param {number | null} host the host whose VMs come first; null for none
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
  const rank = (/** @type {number} */ vm) => (map.vms.host[vm] === host ? 0 : 1);
  return [...byDomain]
    .sort(([a], [b]) => (a ?? Infinity) - (b ?? Infinity))
    .map(([domain, same]) => ({
      domain,
      vms: host === null ? same : same.sort((a, b) => rank(a) - rank(b)),
    }));
}

/**
 * Truncate cells to fit their row; they share the available space evenly.
 * @param {Cell[]} cells
 * @param {number} room in squares
 * @returns {{cells: Cell[], hidden: number}}
 */
export function fitCells(cells, room) {
  const total = cells.reduce((sum, { vms }) => sum + vms.length, 0);
  if (total <= room) return { cells, hidden: 0 };
  const share = Math.max(Math.floor(room / cells.length), 1);
  const cut = cells.map(({ domain, vms }) => ({ domain, vms: vms.slice(0, share) }));
  const left = cut.reduce((sum, { vms }) => sum + vms.length, 0);
  return { cells: cut, hidden: total - left };
}

/**
 * Return how many rows fit a drawing budget.
 * @param {Row[]} rows
 * @param {number} cost in squares
 */
export function rowsFor(rows, cost) {
  let left = cost;
  let number = 0;
  while (number < rows.length && left > 0) {
    left -= ROW_COST + Math.min(rows[number]?.vms.length ?? 0, MOST_SQUARES);
    number += 1;
  }
  return number;
}
