// Which stretch of time is shown, and where on it a moment lies.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/**
 * @typedef {object} View what the viewer has chosen to see
 * @property {number} span in ms
 * @property {number | null} middle in ms; null: now, wherever that goes
 */

/**
 * @typedef {object} Stretch
 * @property {number} from in ms
 * @property {number} to
 */

/** @typedef {{at: number, isDay: boolean}} Tick */

/** What is offered by a button. */
export const SPANS = [
  { label: "15 min", span: 15 * MINUTE },
  { label: "1 h", span: HOUR },
  { label: "6 h", span: 6 * HOUR },
  { label: "24 h", span: DAY },
  { label: "7 d", span: 7 * DAY },
];

const SHORTEST = MINUTE;
const LONGEST = 60 * DAY;
const STEPS = 20; // of a stretch that follows now: its bars do not move all the time
const MARGIN = 1.2; // of what is fitted in

/** Between two ticks, the smallest first. */
const BETWEEN = [
  ...[5, 10, 15, 30].map((each) => each * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((each) => each * MINUTE),
  ...[1, 2, 3, 6, 12].map((each) => each * HOUR),
  ...[1, 2, 7, 14, 28].map((each) => each * DAY),
];
const CLOSEST = 76; // px between two ticks, so that their labels have room

/**
 * Find the stretch that is shown.
 * @param {View} view
 * @param {number} now
 * @returns {Stretch}
 */
export function stretchOf({ span, middle }, now) {
  const step = span / STEPS;
  const around = middle ?? Math.floor(now / step) * step;
  return { from: around - span / 2, to: around + span / 2 };
}

/**
 * Show less (a factor below 1) or more, while one moment stays where it is.
 * @param {View} view
 * @param {number} factor
 * @param {number | null} [at] null: the middle stays
 * @param {number} [now] needed with `at`
 * @returns {View}
 */
export function zoomed(view, factor, at = null, now = 0) {
  const span = Math.min(Math.max(view.span * factor, SHORTEST), LONGEST);
  if (at === null) return { ...view, span };
  const { from } = stretchOf(view, now);
  const share = (at - from) / view.span;
  return { span, middle: at + (0.5 - share) * span };
}

/**
 * Show what comes before (a share below 0) or after.
 * @param {View} view
 * @param {number} share of what is shown
 * @param {number} now
 * @returns {View}
 */
export function panned(view, share, now) {
  const { from } = stretchOf(view, now);
  return { ...view, middle: from + view.span * (0.5 + share) };
}

/**
 * Show all of these moments.
 * @param {number[]} moments at least one
 * @returns {View}
 */
export function fitted(moments) {
  const from = moments.reduce((one, other) => Math.min(one, other));
  const to = moments.reduce((one, other) => Math.max(one, other));
  const span = Math.min(Math.max((to - from) * MARGIN, SHORTEST), LONGEST);
  return { span, middle: (from + to) / 2 };
}

/**
 * Find where a moment lies, in px from the left.
 * @param {number} at
 * @param {Stretch} stretch
 * @param {number} width in px
 */
export function placeOf(at, { from, to }, width) {
  return ((at - from) / (to - from)) * width;
}

/**
 * Find the moments to write on the axis: round ones, in the viewer's zone.
 * @param {Stretch} stretch
 * @param {number} width in px
 * @param {(at: number) => number} [offset] of the zone, in ms; for tests
 * @returns {Tick[]}
 */
export function ticksOf({ from, to }, width, offset = zoneOffset) {
  const least = ((to - from) * CLOSEST) / Math.max(width, 1);
  const step = BETWEEN.find((each) => each >= least) ?? 56 * DAY;
  const ticks = [];
  const first = Math.ceil((from + offset(from)) / step) * step;
  for (let wall = first; ; wall += step) {
    const at = wall - offset(wall - offset(from)); // summer time may begin between
    if (at > to) return ticks;
    ticks.push({ at, isDay: wall % DAY === 0 });
  }
}

/**
 * Say how far the viewer's wall clock is ahead of UTC.
 * @param {number} at
 */
function zoneOffset(at) {
  return -new Date(at).getTimezoneOffset() * MINUTE;
}
