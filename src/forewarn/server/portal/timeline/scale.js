// Time scale: the visible range, zooming, panning, and axis ticks.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * @typedef {object} View the part of the timeline that the user has chosen
 * @property {number} span in ms
 * @property {number | null} middle in ms; null to follow the current time
 */

/**
 * @typedef {object} TimeRange
 * @property {number} from in ms
 * @property {number} to
 */

/** @typedef {{at: number, isDay: boolean}} Tick */

/** Ranges that have a button. */
export const SPANS = [
  { label: "15 min", span: 15 * MINUTE },
  { label: "1 h", span: HOUR },
  { label: "6 h", span: 6 * HOUR },
  { label: "24 h", span: DAY },
  { label: "7 d", span: 7 * DAY },
];

const SHORTEST = MINUTE;
const LONGEST = 60 * DAY;
const STEPS = 20; // per range; a range that follows the current time moves in steps
const MARGIN = 1.2; // factor, so that `fit` leaves room on both sides

/** Possible distances between two ticks, smallest first. */
const TICK_STEPS = [
  ...[5, 10, 15, 30].map((seconds) => seconds * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28].map((days) => days * DAY),
];
const CLOSEST = 76; // minimum px between two ticks: room for a label

/**
 * Return the range that a view shows.
 * @param {View} view
 * @param {number} now
 * @returns {TimeRange}
 */
export function rangeOf({ span, middle }, now) {
  const step = span / STEPS;
  const around = middle ?? Math.floor(now / step) * step;
  return { from: around - span / 2, to: around + span / 2 };
}

/**
 * Zoom in (a factor below 1) or out around a fixed time.
 * @param {View} view
 * @param {number} factor
 * @param {number | null} [at] the fixed time; null for the middle
 * @param {number} [now] needed with `at`
 * @returns {View}
 */
export function zoom(view, factor, at = null, now = 0) {
  const span = Math.min(Math.max(view.span * factor, SHORTEST), LONGEST);
  if (at === null) return { ...view, span };
  const { from } = rangeOf(view, now);
  const share = (at - from) / view.span;
  return { span, middle: at + (0.5 - share) * span };
}

/**
 * Move to earlier (a share below 0) or later times.
 * @param {View} view
 * @param {number} share of the range
 * @param {number} now
 * @returns {View}
 */
export function pan(view, share, now) {
  const { from } = rangeOf(view, now);
  return { ...view, middle: from + view.span * (0.5 + share) };
}

/**
 * Return a view that includes all these times.
 * @param {number[]} moments at least one
 * @returns {View}
 */
export function fit(moments) {
  const from = moments.reduce((a, b) => Math.min(a, b));
  const to = moments.reduce((a, b) => Math.max(a, b));
  const span = Math.min(Math.max((to - from) * MARGIN, SHORTEST), LONGEST);
  return { span, middle: (from + to) / 2 };
}

/**
 * Return the position of a time in px from the left.
 * @param {number} at
 * @param {TimeRange} range
 * @param {number} width in px
 */
export function positionOf(at, { from, to }, width) {
  return ((at - from) / (to - from)) * width;
}

/**
 * Return the axis ticks: round times in the viewer's time zone.
 * @param {TimeRange} range
 * @param {number} width in px
 * @param {(at: number) => number} [offset] of the zone, in ms; for tests
 * @returns {Tick[]}
 */
export function ticksOf({ from, to }, width, offset = zoneOffset) {
  const least = ((to - from) * CLOSEST) / Math.max(width, 1);
  const step = TICK_STEPS.find((candidate) => candidate >= least) ?? 56 * DAY;
  const ticks = [];
  const first = Math.ceil((from + offset(from)) / step) * step;
  for (let wall = first; ; wall += step) {
    const at = wall - offset(wall - offset(from)); // DST may start between
    if (at > to) return ticks;
    ticks.push({ at, isDay: wall % DAY === 0 });
  }
}

/**
 * Return how far the viewer's time zone is ahead of UTC, in ms.
 * @param {number} at
 */
function zoneOffset(at) {
  return -new Date(at).getTimezoneOffset() * MINUTE;
}
