// What is said of a bar of the timeline, and of its marks.

import { few, STANDINGS, titleOf } from "../components.js";
import { local, span, utc } from "../times.js";

/** @typedef {import("./bars.js").Bar} Bar */
/** @typedef {import("./bars.js").Mark} Mark */
/** @typedef {import("./lanes.js").By} By */

/** What colour alone would tell stands first. */
const TOLD = new Set(["stuck", "gate", "canceled", "failed"]);
const BY = { approved: "approved by", seen: "seen by" };
const NO_LANE = { host: "No host", group: "No group" };

/**
 * Name a lane.
 * @param {string} name
 * @param {By} by
 */
export function laneTitle(name, by) {
  return name || NO_LANE[by];
}

/**
 * Write on a bar how its sentence begins.
 * @param {Bar} bar
 */
export function labelOf({ item, standing }) {
  const title = titleOf(item.maintenance);
  return TOLD.has(standing) ? `${STANDINGS[standing]}: ${title}` : title;
}

/**
 * Tell of a bar all that it shows.
 * @param {Bar} bar
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} [zone] for tests
 */
export function sentenceOf(bar, now, zone = {}) {
  const { standing, events, marks } = bar;
  const groups = events.map((each) => each.group);
  const words = [labelOf(bar)];
  if (groups.length === 1) words.push(`group ${groups[0]}`);
  if (groups.length > 1) words.push(`groups ${few(groups)}`);
  if (!TOLD.has(standing)) words.push(STANDINGS[standing].toLowerCase());
  words.push(...momentsIn(bar, now, zone));
  for (const kind of /** @type {const} */ (["approved", "seen"])) {
    const names = namesOf(marks.filter((each) => each.kind === kind));
    if (names.length) words.push(`${BY[kind]} ${few(names)}`);
  }
  return words.join(", ");
}

/**
 * @param {Bar} bar
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} zone
 */
function momentsIn({ item }, now, zone) {
  const { not_before, started_at, ended_at } = item.maintenance;
  const words = [`not before ${local(not_before, now, zone)}`];
  if (started_at) words.push(`started ${local(started_at, now, zone)}`);
  if (ended_at) words.push(`ended ${local(ended_at, now, zone)}`);
  return words;
}

/**
 * Say how long the work takes.
 * @param {Bar} bar
 */
export function lengthOf({ item }) {
  const seconds = item.maintenance.duration_seconds;
  return seconds < 0 ? "unknown" : span(seconds * 1000);
}

/**
 * Tell of marks of one kind that are drawn as one.
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
 * @returns {string[]} each name once
 */
export function namesOf(marks) {
  return [...new Set(marks.map((each) => each.by))];
}
