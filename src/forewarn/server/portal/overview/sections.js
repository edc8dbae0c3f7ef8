// Sections of the overview by urgency, and the progress of each event.

import { standingOf } from "../components.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */
/** @typedef {import("../types").Sight} Sight */
/** @typedef {import("../types").Wait} Wait */

/** @typedef {"stuck" | "started" | "blocked" | "scheduled"} Urgency */

/** Most urgent first. @type {Urgency[]} */
export const URGENCIES = ["stuck", "started", "blocked", "scheduled"];

/** Sort key for each section: the longest-lasting or soonest item comes first. */
const MOMENTS = /** @type {Record<Urgency, (item: Item) => string>} */ ({
  stuck: ({ maintenance }) => maintenance.stuck_since ?? "",
  started: ({ maintenance }) => maintenance.started_at ?? "",
  blocked: ({ maintenance }) => maintenance.not_before,
  scheduled: ({ maintenance }) => maintenance.not_before,
});

/**
 * Sort the live items into sections.
 * @param {Iterable<Item>} items
 * @returns {Record<Urgency, Item[]>}
 */
export function sectionsOf(items) {
  /** @type {Record<Urgency, Item[]>} */
  const sections = { stuck: [], started: [], blocked: [], scheduled: [] };
  for (const item of items) {
    if (item.maintenance.ended_at) continue;
    sections[/** @type {Urgency} */ (standingOf(item))].push(item);
  }
  for (const name of URGENCIES) {
    const moment = MOMENTS[name];
    sections[name].sort((a, b) => compare(moment(a), moment(b)));
  }
  return sections;
}

/**
 * @param {string} a
 * @param {string} b
 */
function compare(a, b) {
  return a === b ? 0 : a < b ? -1 : 1; // much faster than localeCompare
}

/**
 * Return the items that ended most recently, latest first.
 * @param {Iterable<Item>} items
 * @param {number} most
 */
export function lastEnded(items, most = 5) {
  /** @type {Item[]} */
  const ended = [];
  for (const item of items) {
    const at = item.maintenance.ended_at;
    if (!at || (ended.length === most && at <= endOf(ended[most - 1]))) continue;
    ended.push(item);
    ended.sort((a, b) => compare(endOf(b), endOf(a)));
    ended.length = Math.min(ended.length, most);
  }
  return ended;
}

/** @param {Item | undefined} item */
function endOf(item) {
  return item?.maintenance.ended_at ?? "";
}

/**
 * @typedef {object} Sighting which VMs have seen an event
 * @property {Sight[]} affected VMs that the event affects
 * @property {Sight[]} others VMs of the same group
 * @property {string[]} missing affected VMs that have not seen it
 */

/**
 * Return which VMs have seen an event.
 * @param {Item} item
 * @param {ScheduledEvent} event
 * @returns {Sighting}
 */
export function sightingOf(item, event) {
  const sights = item.seen.filter((sight) => sight.event === event.id);
  const resources = new Set(event.resources);
  const vms = new Set(sights.map(({ vm }) => vm));
  return {
    affected: sights.filter(({ vm }) => resources.has(vm)),
    others: sights.filter(({ vm }) => !resources.has(vm)),
    missing: event.resources.filter((vm) => !vms.has(vm)),
  };
}

/**
 * Count the events that need an approval and the events that have one.
 * @param {Item} item
 */
export function approvalsOf({ maintenance }) {
  const needed = maintenance.events.filter((event) => !isWithdrawn(maintenance, event));
  const given = needed.filter((event) => event.approved_at);
  return { given: given.length, needed: needed.length };
}

/**
 * Whether an event of a live maintenance operation was withdrawn.
 * @param {import("../types").Maintenance} maintenance
 * @param {ScheduledEvent} event
 */
export function isWithdrawn({ ended_at }, event) {
  return !ended_at && event.status === null;
}

/**
 * Select the waits for a card. The events show approvals, and the countdown shows the
 * remaining time. The blockers of different groups are similar, so a few are enough.
 * @param {Item} item
 * @returns {{shown: Wait[], more: number}}
 */
export function shownWaits({ maintenance, due, waits }) {
  const { started_at, ended_at } = maintenance;
  const relevant = waits.filter(({ kind }) =>
    started_at || ended_at ? kind !== "approval" : kind === "blocker",
  );
  const shown = relevant.slice(0, due || started_at ? 3 : 1);
  return { shown, more: relevant.length - shown.length };
}

/**
 * Summarize the sections in one sentence.
 * @param {Record<Urgency, Item[]>} sections
 */
export function summaryOf(sections) {
  const { stuck, started, blocked, scheduled } = sections;
  const total = stuck.length + started.length + blocked.length + scheduled.length;
  if (!total) return "No maintenance is announced.";
  return (
    `${stuck.length} stuck, ${started.length} started,` +
    ` ${blocked.length} blocked, ${scheduled.length} scheduled.`
  );
}
