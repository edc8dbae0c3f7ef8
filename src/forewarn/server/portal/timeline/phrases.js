// Phrases for the lanes, bars and marks of the timeline.

import { few, STANDINGS, titleOf } from "../components.js";
import { local, span, utc } from "../times.js";

/** @typedef {import("./bars.js").Bar} Bar */
/** @typedef {import("./bars.js").Mark} Mark */
/** @typedef {import("./lanes.js").By} By */

/** Statuses shown only by the bar's color, so the bar's label starts with them. */
const LABELED = new Set(["stuck", "blocked", "canceled", "failed"]);
const BY = { approved: "approved by", seen: "seen by" };
const NO_LANE = { host: "No host", group: "No group" };

/**
 * Return the title of a lane.
 * @param {string} name
 * @param {By} by
 */
export function laneTitle(name, by) {
  return name || NO_LANE[by];
}

/**
 * Return the text on a bar; the bar's sentence starts with it.
 * @param {Bar} bar
 */
export function barLabel({ item, standing }) {
  const title = titleOf(item.maintenance);
  return LABELED.has(standing) ? `${STANDINGS[standing]}: ${title}` : title;
}

/**
 * Describe everything that a bar shows.
 * @param {Bar} bar
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} [zone] for tests
 */
export function barSentence(bar, now, zone = {}) {
  const { standing, events, marks } = bar;
  const groups = [...new Set(events.map(({ group }) => group))];
  const parts = [barLabel(bar)];
  if (groups.length === 1) parts.push(`group ${groups[0]}`);
  if (groups.length > 1) parts.push(`groups ${few(groups)}`);
  if (!LABELED.has(standing)) parts.push(STANDINGS[standing].toLowerCase());
  parts.push(...timesOf(bar, now, zone));
  for (const kind of /** @type {const} */ (["approved", "seen"])) {
    const names = namesOf(marks.filter((mark) => mark.kind === kind));
    if (names.length) parts.push(`${BY[kind]} ${few(names)}`);
  }
  return parts.join(", ");
}

/**
 * @param {Bar} bar
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} zone
 */
function timesOf({ item }, now, zone) {
  const { not_before, started_at, ended_at } = item.maintenance;
  const parts = [`not before ${local(not_before, now, zone)}`];
  if (started_at) parts.push(`started ${local(started_at, now, zone)}`);
  if (ended_at) parts.push(`ended ${local(ended_at, now, zone)}`);
  return parts;
}

/**
 * Return the expected duration of the work.
 * @param {Bar} bar
 */
export function durationOf({ item }) {
  const seconds = item.maintenance.duration_seconds;
  return seconds < 0 ? "unknown" : span(seconds * 1000);
}

/**
 * Describe marks of one kind that are drawn as one mark.
 * @param {Mark[]} marks at least one
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} [zone] for tests
 */
export function markTitle(marks, now, zone = {}) {
  const [{ kind, at }] = marks;
  const when = `${local(at, now, zone)} (${utc(at)})`;
  return `${BY[kind]} ${few(namesOf(marks))}, ${when}`;
}

/**
 * @param {Mark[]} marks
 * @returns {string[]} without duplicates
 */
export function namesOf(marks) {
  return [...new Set(marks.map(({ by }) => by))];
}
