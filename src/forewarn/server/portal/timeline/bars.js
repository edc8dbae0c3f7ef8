// What a maintenance looks like on a timeline: from when to when, and its marks.

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
 * @typedef {object} Moments of an item, read once
 * @property {number} announced
 * @property {number} notBefore
 * @property {number} startsAt by when it starts, if it is not started
 * @property {number | null} started
 * @property {number | null} ended
 * @property {number | null} length null: nobody knows
 * @property {Mark[]} marks
 */

/**
 * @typedef {object} Extent
 * @property {number} from
 * @property {number | null} work when it begins to be done; null: it never was
 * @property {number} to
 * @property {boolean} isExpected whether the work is still to begin
 * @property {boolean} isOpen whether its end is not known
 */

/**
 * @typedef {object} Own
 * @property {string} id of the maintenance
 * @property {Item} item
 * @property {ScheduledEvent[]} events those that its lane is about
 * @property {ReturnType<typeof standingOf>} standing
 * @property {number} notBefore
 * @property {Mark[]} marks in order of time
 */

/** @typedef {Own & Extent} Bar */

/** @type {WeakMap<Item, Moments>} an item that changes is another one */
const READ = new WeakMap();

/**
 * Draw up the bar of an item.
 * @param {Item} item
 * @param {ScheduledEvent[]} events those that its lane is about
 * @param {number} now
 * @param {number} tail how long an open end is drawn, in ms
 * @returns {Bar}
 */
export function barOf(item, events, now, tail) {
  const { maintenance } = item;
  const moments = momentsOf(item);
  const ids = new Set(events.map((each) => each.id));
  return {
    id: maintenance.id,
    item,
    events,
    standing: standingOf(item),
    notBefore: moments.notBefore,
    marks: moments.marks.filter((each) => ids.has(each.event)),
    ...extentOf(moments, now, tail),
  };
}

/**
 * Find from when to when an item reaches.
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
 * Read the moments of an item.
 * @param {Item} item
 * @returns {Moments}
 */
export function momentsOf(item) {
  const known = READ.get(item);
  if (known) return known;
  const { maintenance } = item;
  const seconds = maintenance.duration_seconds;
  const notBefore = Date.parse(maintenance.not_before);
  const read = {
    announced: Date.parse(maintenance.announced_at),
    notBefore,
    startsAt: Math.max(notBefore, parsed(item.starts_at_latest) ?? notBefore),
    started: parsed(maintenance.started_at),
    ended: parsed(maintenance.ended_at),
    length: seconds < 0 ? null : seconds * 1000,
    marks: marksOf(item),
  };
  READ.set(item, read);
  return read;
}

/** @param {string | null} moment */
function parsed(moment) {
  return moment === null ? null : Date.parse(moment);
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
    const at = parsed(event.approved_at);
    const by = event.approved_by ?? event.approved_via ?? "";
    if (at !== null) marks.push({ kind: "approved", at, event: event.id, by });
  }
  return marks.sort((one, other) => one.at - other.at);
}
