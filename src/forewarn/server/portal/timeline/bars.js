// Timeline bars: the start, end and marks of a maintenance operation.

import { standingOf } from "../components.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

/**
 * @typedef {object} Mark
 * @property {"seen" | "approved"} kind
 * @property {number} at
 * @property {string} event
 * @property {string} by a VM, or the name of a token
 */

/**
 * @typedef {object} Moments an item's times in ms, parsed once
 * @property {number} announced
 * @property {number} notBefore
 * @property {number} startsAt its latest start, if it has not started
 * @property {number | null} started
 * @property {number | null} ended
 * @property {number | null} length null if unknown
 * @property {Mark[]} marks
 */

/**
 * @typedef {object} Extent
 * @property {number} from
 * @property {number | null} work start of the work; null if there was no work
 * @property {number} to
 * @property {boolean} isExpected whether the work has yet to start
 * @property {boolean} isOpen whether its end is unknown
 */

/**
 * @typedef {object} BarData
 * @property {string} id of the maintenance
 * @property {Item} item
 * @property {ScheduledEvent[]} events the events of its lane
 * @property {ReturnType<typeof standingOf>} standing
 * @property {number} notBefore
 * @property {Mark[]} marks in order of time
 */

/** @typedef {BarData & Extent} Bar */

/** @type {WeakMap<Item, Moments>} a changed item is a new object */
const PARSED = new WeakMap();

/**
 * Create the bar of an item.
 * @param {Item} item
 * @param {ScheduledEvent[]} events the events of its lane
 * @param {number} now
 * @param {number} tail length of an open end, in ms
 * @returns {Bar}
 */
export function barOf(item, events, now, tail) {
  const { maintenance } = item;
  const moments = momentsOf(item);
  const ids = new Set(events.map(({ id }) => id));
  return {
    id: maintenance.id,
    item,
    events,
    standing: standingOf(item),
    notBefore: moments.notBefore,
    marks: moments.marks.filter(({ event }) => ids.has(event)),
    ...extentOf(moments, now, tail),
  };
}

/**
 * Return the start, work and end times of an item.
 * @param {Moments} moments
 * @param {number} now
 * @param {number} tail
 * @returns {Extent}
 */
export function extentOf(moments, now, tail) {
  const { announced, started, ended, length } = moments;
  const from = Math.min(announced, started ?? announced);
  if (ended !== null) {
    return { from, work: started, to: ended, isExpected: false, isOpen: false };
  }
  const work = started ?? Math.max(moments.startsAt, now);
  const end = length === null ? work : work + length;
  const isOpen = length === null || end < now;
  const to = isOpen ? Math.max(work, now) + tail : end;
  return { from, work, to, isExpected: started === null, isOpen };
}

/**
 * Return the times of an item.
 * @param {Item} item
 * @returns {Moments}
 */
export function momentsOf(item) {
  const cached = PARSED.get(item);
  if (cached) return cached;
  const { maintenance } = item;
  const seconds = maintenance.duration_seconds;
  const notBefore = Date.parse(maintenance.not_before);
  const moments = {
    announced: Date.parse(maintenance.announced_at),
    notBefore,
    startsAt: Math.max(notBefore, parse(item.starts_at_latest) ?? notBefore),
    started: parse(maintenance.started_at),
    ended: parse(maintenance.ended_at),
    length: seconds < 0 ? null : seconds * 1000,
    marks: marksOf(item),
  };
  PARSED.set(item, moments);
  return moments;
}

/** @param {string | null} time */
function parse(time) {
  return time === null ? null : Date.parse(time);
}

/**
 * @param {Item} item
 * @returns {Mark[]}
 */
function marksOf({ maintenance, seen }) {
  /** @type {Mark[]} */
  const marks = seen.map(({ event, vm, at }) => ({
    kind: "seen",
    at: Date.parse(at),
    event,
    by: vm,
  }));
  for (const event of maintenance.events) {
    const at = parse(event.approved_at);
    const by = event.approved_by ?? event.approved_via ?? "";
    if (at !== null) marks.push({ kind: "approved", at, event: event.id, by });
  }
  return marks.sort((a, b) => a.at - b.at);
}
