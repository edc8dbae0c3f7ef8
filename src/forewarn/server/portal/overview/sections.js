// What is going on, in order of urgency, and how far each event is.

import { standingOf } from "../components.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */
/** @typedef {import("../types").Sight} Sight */
/** @typedef {import("../types").Wait} Wait */

/** @typedef {"stuck" | "started" | "gate" | "scheduled"} Urgency */

/** The most urgent first. @type {Urgency[]} */
export const URGENCIES = ["stuck", "started", "gate", "scheduled"];

/** By what each section is sorted: what is longest so, or soonest, comes first. */
const MOMENTS = /** @type {Record<Urgency, (item: Item) => string>} */ ({
  stuck: ({ maintenance }) => maintenance.stuck_since ?? "",
  started: ({ maintenance }) => maintenance.started_at ?? "",
  gate: ({ maintenance }) => maintenance.not_before,
  scheduled: ({ maintenance }) => maintenance.not_before,
});

/**
 * Sort what is live into sections.
 * @param {Iterable<Item>} items
 * @returns {Record<Urgency, Item[]>}
 */
export function sectionsOf(items) {
  /** @type {Record<Urgency, Item[]>} */
  const sections = { stuck: [], started: [], gate: [], scheduled: [] };
  for (const item of items) {
    if (item.maintenance.ended_at) continue;
    sections[/** @type {Urgency} */ (standingOf(item))].push(item);
  }
  for (const name of URGENCIES) {
    const moment = MOMENTS[name];
    sections[name].sort((one, other) => order(moment(one), moment(other)));
  }
  return sections;
}

/**
 * @param {string} one
 * @param {string} other
 */
function order(one, other) {
  return one === other ? 0 : one < other ? -1 : 1; // as localeCompare, but fast
}

/**
 * Find the few that ended last, the latest first.
 * @param {Iterable<Item>} items
 * @param {number} most
 */
export function lastEnded(items, most = 5) {
  /** @type {Item[]} */
  const found = [];
  for (const item of items) {
    const at = item.maintenance.ended_at;
    if (!at || (found.length === most && at <= endOf(found[most - 1]))) continue;
    found.push(item);
    found.sort((one, other) => order(endOf(other), endOf(one)));
    found.length = Math.min(found.length, most);
  }
  return found;
}

/** @param {Item | undefined} item */
function endOf(item) {
  return item?.maintenance.ended_at ?? "";
}

/**
 * @typedef {object} Sighting who has seen an event
 * @property {Sight[]} touched those whom it touches
 * @property {Sight[]} others of their group
 * @property {string[]} missing those whom it touches and who have not seen it
 */

/**
 * Say who has seen an event.
 * @param {Item} item
 * @param {ScheduledEvent} event
 * @returns {Sighting}
 */
export function sightingOf(item, event) {
  const seen = item.seen.filter((each) => each.event === event.id);
  const resources = new Set(event.resources);
  const known = new Set(seen.map((each) => each.vm));
  return {
    touched: seen.filter((each) => resources.has(each.vm)),
    others: seen.filter((each) => !resources.has(each.vm)),
    missing: event.resources.filter((each) => !known.has(each)),
  };
}

/**
 * Count the events of a maintenance, and those that are approved.
 * @param {Item} item
 */
export function approvals({ maintenance }) {
  const wanted = maintenance.events.filter((each) => !isWithdrawn(maintenance, each));
  const given = wanted.filter((each) => each.approved_at);
  return { given: given.length, wanted: wanted.length };
}

/**
 * Whether the event of a live maintenance is gone.
 * @param {import("../types").Maintenance} maintenance
 * @param {ScheduledEvent} event
 */
export function isWithdrawn({ ended_at }, event) {
  return !ended_at && event.status === null;
}

/**
 * Choose what is worth telling of what an item waits for: approvals are told with
 * the events, the time before it starts is counted down, and gates that are shut in
 * many groups are alike.
 * @param {Item} item
 * @returns {{told: Wait[], more: number}}
 */
export function waitsTold({ maintenance, due, waits }) {
  const { started_at, ended_at } = maintenance;
  const worth = waits.filter(({ kind }) =>
    started_at || ended_at ? kind !== "approval" : kind === "gate",
  );
  const told = worth.slice(0, due || started_at ? 3 : 1);
  return { told, more: worth.length - told.length };
}

/**
 * Say in one line how much there is of each.
 * @param {Record<Urgency, Item[]>} sections
 */
export function summary(sections) {
  const { stuck, started, gate, scheduled } = sections;
  const all = stuck.length + started.length + gate.length + scheduled.length;
  if (!all) return "Nothing is announced.";
  return (
    `${stuck.length} stuck, ${started.length} started,` +
    ` ${gate.length} at a gate, ${scheduled.length} scheduled.`
  );
}
