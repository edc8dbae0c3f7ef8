// Timeline lanes: one per host or group, with its bars.

import { barOf, extentOf, momentsOf } from "./bars.js";
import { laneTitle } from "./phrases.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */
/** @typedef {import("../types").FleetMap} FleetMap */
/** @typedef {import("./bars.js").Bar} Bar */

/** @typedef {"host" | "group"} By */

/**
 * @typedef {object} Lane
 * @property {string} name empty for maintenance without a host or group
 * @property {Bar[]} bars live ones in order of announcement, then ended ones, latest
 *   first
 */

/**
 * @typedef {object} LaneOptions
 * @property {By} by
 * @property {Map<string, string>} hostOf host of each VM
 * @property {import("./scale.js").TimeRange} range
 * @property {number} now
 * @property {string} search part of the lane's name
 */

const TAIL = 1 / 12; // length of an open end, as a share of the range
const ORDER = new Intl.Collator("en", { numeric: true }); // web-2 before web-10

/**
 * Return the lanes that have bars in the range, sorted by name.
 * @param {Iterable<Item>} items
 * @param {LaneOptions} options
 * @returns {Lane[]}
 */
export function lanesOf(items, options) {
  const { now, range } = options;
  const tail = (range.to - range.from) * TAIL;
  const search = options.search.trim().toLowerCase();
  /** @type {Map<string, Bar[]>} */
  const lanes = new Map();
  for (const item of items) {
    const { from, to } = extentOf(momentsOf(item), now, tail);
    if (to < range.from || from > range.to) continue;
    for (const [name, events] of eventsByLane(item, options)) {
      if (!laneTitle(name, options.by).toLowerCase().includes(search)) continue;
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
 * Return the lanes of an item, each with its events.
 * @param {Item} item
 * @param {LaneOptions} options
 * @returns {Map<string, ScheduledEvent[]>}
 */
function eventsByLane({ maintenance }, { by, hostOf }) {
  const { events, host, vms } = maintenance;
  if (by === "group") {
    const lanes = new Map(events.map(({ group }) => [group, eventsOf(group, events)]));
    return lanes.size ? lanes : new Map([["", events]]);
  }
  if (host !== null) return new Map([[host, events]]);
  const hosts = new Set(vms.map((vm) => hostOf.get(vm) ?? ""));
  return new Map([...hosts].map((name) => [name, eventsOn(name, events, hostOf)]));
}

/**
 * Return the events of a group. A group has several events if its VMs are in several
 * update domains, or if they do not see each other's events.
 * @param {string} group
 * @param {ScheduledEvent[]} events
 */
function eventsOf(group, events) {
  return events.filter((event) => event.group === group);
}

/**
 * Return the events of VMs on a host.
 * @param {string} host
 * @param {ScheduledEvent[]} events
 * @param {Map<string, string>} hostOf
 */
function eventsOn(host, events, hostOf) {
  return events.filter(({ resources }) =>
    resources.some((vm) => (hostOf.get(vm) ?? "") === host),
  );
}

/**
 * Return the host of each VM; VMs without a host are omitted.
 * @param {FleetMap} fleet
 * @returns {Map<string, string>}
 */
export function hostsOf({ hosts, vms }) {
  const hostOf = new Map();
  vms.name.forEach((name, index) => {
    const host = vms.host[index] ?? null;
    if (host !== null) hostOf.set(name, hosts[host]);
  });
  return hostOf;
}

/**
 * Return the lanes that are drawn at once.
 * @param {Lane[]} lanes
 * @param {number} mostLanes
 * @param {number} mostBars in all lanes; the first lane may have more
 */
export function firstLanes(lanes, mostLanes, mostBars) {
  let bars = 0;
  const end = lanes.findIndex((lane, index) => {
    bars += lane.bars.length;
    return index >= mostLanes || (index > 0 && bars > mostBars);
  });
  return end < 0 ? lanes : lanes.slice(0, end);
}

/**
 * @param {Lane} a
 * @param {Lane} b
 */
function byName(a, b) {
  if (!a.name || !b.name) return a.name ? -1 : 1;
  return ORDER.compare(a.name, b.name);
}

/**
 * @param {Bar} a
 * @param {Bar} b
 */
function byUrgency(a, b) {
  const [first, second] = [momentsOf(a.item), momentsOf(b.item)];
  const live = Number(second.ended === null) - Number(first.ended === null);
  if (live) return live;
  if (first.ended === null) return first.announced - second.announced;
  return (second.ended ?? 0) - first.ended;
}
