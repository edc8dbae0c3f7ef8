// Which lanes a timeline has, and which maintenances lie in each.

import { barOf, extentOf, momentsOf } from "./bars.js";
import { laneTitle } from "./phrases.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */
/** @typedef {import("../types").FleetMap} FleetMap */
/** @typedef {import("./bars.js").Bar} Bar */

/** @typedef {"host" | "group"} By */

/**
 * @typedef {object} Lane
 * @property {string} name empty: of what is on no host, or in no group
 * @property {Bar[]} bars what is live first, in order of announcement; then what has
 *   ended, the latest first
 */

/**
 * @typedef {object} Asked
 * @property {By} by
 * @property {Map<string, string>} hostOf where each VM runs
 * @property {import("./scale.js").Stretch} stretch
 * @property {number} now
 * @property {string} search a part of the lane's name
 */

const TAIL = 1 / 12; // of the stretch: how long an open end is drawn
const ORDER = new Intl.Collator("en", { numeric: true }); // web-2 before web-10

/**
 * Find the lanes that have something in a stretch of time, in order of their names.
 * @param {Iterable<Item>} items
 * @param {Asked} asked
 * @returns {Lane[]}
 */
export function lanesOf(items, asked) {
  const { now, stretch } = asked;
  const tail = (stretch.to - stretch.from) * TAIL;
  const wanted = asked.search.trim().toLowerCase();
  /** @type {Map<string, Bar[]>} */
  const lanes = new Map();
  for (const item of items) {
    const { from, to } = extentOf(momentsOf(item), now, tail);
    if (to < stretch.from || from > stretch.to) continue;
    for (const [name, events] of sharesOf(item, asked)) {
      if (!laneTitle(name, asked.by).toLowerCase().includes(wanted)) continue;
      const bars = lanes.get(name) ?? [];
      bars.push(barOf(item, events, now, tail));
      lanes.set(name, bars);
    }
  }
  return [...lanes]
    .map(([name, bars]) => ({ name, bars: bars.sort(byUrgency) }))
    .sort(byName);
}

/**
 * Find the lanes of an item, and which of its events each of them is about.
 * @param {Item} item
 * @param {Asked} asked
 * @returns {Map<string, ScheduledEvent[]>}
 */
function sharesOf({ maintenance }, { by, hostOf }) {
  const { events, host, vms } = maintenance;
  if (by === "group") {
    const shares = new Map(events.map((each) => [each.group, [each]]));
    return shares.size ? shares : new Map([["", events]]);
  }
  if (host !== null) return new Map([[host, events]]);
  const hosts = new Set(vms.map((each) => hostOf.get(each) ?? ""));
  return new Map([...hosts].map((each) => [each, touching(each, events, hostOf)]));
}

/**
 * Find the events of VMs on a host.
 * @param {string} host
 * @param {ScheduledEvent[]} events
 * @param {Map<string, string>} hostOf
 */
function touching(host, events, hostOf) {
  return events.filter(({ resources }) =>
    resources.some((each) => (hostOf.get(each) ?? "") === host),
  );
}

/**
 * Find where each VM runs; those without a host are left out.
 * @param {FleetMap} fleet
 * @returns {Map<string, string>}
 */
export function hostsOf({ hosts, vms }) {
  const found = new Map();
  vms.name.forEach((name, index) => {
    const host = vms.host[index] ?? null;
    if (host !== null) found.set(name, hosts[host]);
  });
  return found;
}

/**
 * Take as many lanes as are drawn at once.
 * @param {Lane[]} lanes
 * @param {number} mostLanes
 * @param {number} mostBars that all of them may have, unless the first has more
 */
export function firstLanes(lanes, mostLanes, mostBars) {
  let bars = 0;
  const end = lanes.findIndex((each, index) => {
    bars += each.bars.length;
    return index >= mostLanes || (index > 0 && bars > mostBars);
  });
  return end < 0 ? lanes : lanes.slice(0, end);
}

/**
 * @param {Lane} one
 * @param {Lane} other
 */
function byName(one, other) {
  if (!one.name || !other.name) return one.name ? -1 : 1;
  return ORDER.compare(one.name, other.name);
}

/**
 * @param {Bar} one
 * @param {Bar} other
 */
function byUrgency({ item: one }, { item: other }) {
  const [first, second] = [momentsOf(one), momentsOf(other)];
  const live = Number(second.ended === null) - Number(first.ended === null);
  if (live) return live;
  if (first.ended === null) return first.announced - second.announced;
  return (second.ended ?? 0) - first.ended;
}
