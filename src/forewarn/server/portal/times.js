// Times and lengths of time in words: the viewer's zone to read, UTC beside it.
// Lengths of time as people write them: 90, 90s, 20m, 2h30m, 1d.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** @typedef {string | number} Moment RFC 3339, or ms since 1970 */

/** @param {Moment} moment */
export function ms(moment) {
  return typeof moment === "number" ? moment : Date.parse(moment);
}

/**
 * Write a moment in UTC, as it is shown beside the viewer's own time.
 * @param {Moment} moment
 */
export function utc(moment) {
  const text = new Date(ms(moment)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}

/**
 * Write a moment in the viewer's zone: the time alone on the day of `now`.
 * @param {Moment} moment
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} [more] for tests: the zone
 */
export function local(moment, now, more = {}) {
  const at = new Date(ms(moment));
  const time = clockTime(at, more);
  if (dayOf(at, more) === dayOf(new Date(now), more)) return time;
  return `${dayOf(at, more)} ${time}`;
}

/** @type {Map<string, Intl.DateTimeFormat>} each is dear to make, and used often */
const FORMATS = new Map();

/**
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {Intl.DateTimeFormat}
 */
function formatOf(options) {
  const key = JSON.stringify(options);
  const known = FORMATS.get(key) ?? new Intl.DateTimeFormat("en-GB", options);
  FORMATS.set(key, known);
  return known;
}

/**
 * @param {Date} at
 * @param {Intl.DateTimeFormatOptions} more
 */
function clockTime(at, more) {
  /** @type {Intl.DateTimeFormatOptions} */
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  return formatOf({ ...time, ...more }).format(at);
}

/**
 * @param {Date} at
 * @param {Intl.DateTimeFormatOptions} more
 */
function dayOf(at, more) {
  /** @type {Intl.DateTimeFormatOptions} */
  const day = { day: "numeric", month: "short", year: "numeric" };
  return formatOf({ ...day, ...more }).format(at);
}

/**
 * Write a length of time as a countdown does: 1:02:03, 14:59, 0:07.
 * @param {number} length in ms; what has begun counts as a whole second
 */
export function countdown(length) {
  const seconds = Math.max(Math.ceil(length / SECOND), 0);
  const days = Math.floor(seconds / 86_400);
  const hours = Math.floor((seconds % 86_400) / 3600);
  const minutes = Math.floor((seconds % 3600) / 60);
  const two = (/** @type {number} */ part) => String(part).padStart(2, "0");
  const rest = `${two(minutes)}:${two(seconds % 60)}`;
  if (days) return `${days} d ${hours}:${rest}`;
  return hours ? `${hours}:${rest}` : `${minutes}:${two(seconds % 60)}`;
}

/**
 * Write a length of time in words: 45 s, 12 min, 3 h 20 min, 2 d 4 h.
 * @param {number} length in ms
 */
export function span(length) {
  const abs = Math.abs(length);
  if (abs < MINUTE) return `${Math.round(abs / SECOND)} s`;
  const minutes = Math.round(abs / MINUTE);
  if (minutes < 60) return `${minutes} min`;
  if (abs < DAY) return two(minutes, 60, "h", "min");
  return two(Math.round(abs / HOUR), 24, "d", "h");
}

/**
 * @param {number} count
 * @param {number} per
 * @param {string} large
 * @param {string} small
 */
function two(count, per, large, small) {
  const rest = count % per;
  const first = `${Math.floor(count / per)} ${large}`;
  return rest ? `${first} ${rest} ${small}` : first;
}

/**
 * Say how far `moment` is from `now`: "in 12 min", "3 h ago", "now".
 * @param {Moment} moment
 * @param {number} now
 */
export function fromNow(moment, now) {
  const left = ms(moment) - now;
  if (Math.abs(left) < SECOND) return "now";
  return left > 0 ? `in ${span(left)}` : `${span(left)} ago`;
}

const WRITTEN = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/i;
const SIZES = [86_400, 3600, 60, 1];

/**
 * Read a length of time in seconds.
 * @param {string} text
 * @returns {number | null} null: it is none
 */
export function secondsOf(text) {
  const trimmed = text.trim().replace(/\s+/g, "");
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed);
  const found = trimmed ? WRITTEN.exec(trimmed) : null;
  if (found === null) return null;
  return SIZES.reduce((sum, size, i) => sum + Number(found[i + 1] ?? 0) * size, 0);
}

/**
 * Say what is wrong with a text that is no length of time.
 * @param {string} text
 */
export function notADuration(text) {
  return `“${text.trim()}” is not a duration; write 90s, 20m, 1h30m or 1d.`;
}
