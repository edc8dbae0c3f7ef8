// Times and durations: formatting for the viewer's time zone and UTC, and parsing.

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Durations such as 20m, 2h30m or 1d. */
const DURATION = /^(?:(\d{1,9})d)?(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?$/i;
const SIZES = [86_400, 3600, 60, 1];

/** @typedef {string | number} Moment RFC 3339, or ms since 1970 */

/** @param {Moment} moment */
export function ms(moment) {
  return typeof moment === "number" ? moment : Date.parse(moment);
}

/**
 * Format a time in UTC.
 * @param {Moment} moment
 */
export function utc(moment) {
  const text = new Date(ms(moment)).toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 19)} UTC`;
}

/**
 * Format a time in the viewer's time zone; without the date if it is today.
 * @param {Moment} moment
 * @param {number} now
 * @param {Intl.DateTimeFormatOptions} [options] the time zone; for tests
 */
export function local(moment, now, options = {}) {
  const at = new Date(ms(moment));
  const time = clockTime(at, options);
  if (dayOf(at, options) === dayOf(new Date(now), options)) return time;
  return `${dayOf(at, options)} ${time}`;
}

/** @type {Map<string, Intl.DateTimeFormat>} expensive to create and used often */
const FORMATS = new Map();

/**
 * @param {Intl.DateTimeFormatOptions} options
 * @returns {Intl.DateTimeFormat}
 */
function formatOf(options) {
  const key = JSON.stringify(options);
  const format = FORMATS.get(key) ?? new Intl.DateTimeFormat("en-GB", options);
  FORMATS.set(key, format);
  return format;
}

/**
 * @param {Date} at
 * @param {Intl.DateTimeFormatOptions} options
 */
function clockTime(at, options) {
  /** @type {Intl.DateTimeFormatOptions} */
  const time = { hour: "2-digit", minute: "2-digit", second: "2-digit" };
  return formatOf({ ...time, ...options }).format(at);
}

/**
 * @param {Date} at
 * @param {Intl.DateTimeFormatOptions} options
 */
function dayOf(at, options) {
  /** @type {Intl.DateTimeFormatOptions} */
  const day = { day: "numeric", month: "short", year: "numeric" };
  return formatOf({ ...day, ...options }).format(at);
}

/**
 * Format a duration as a countdown: 1:02:03, 14:59, 0:07.
 * @param {number} length in ms, rounded up to a whole second
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
 * Format a duration with its units: 45 s, 12 min, 3 h 20 min, 2 d 4 h.
 * @param {number} length in ms
 */
export function span(length) {
  const abs = Math.abs(length);
  if (abs < MINUTE) return `${Math.round(abs / SECOND)} s`;
  const minutes = Math.round(abs / MINUTE);
  if (minutes < 60) return `${minutes} min`;
  if (abs < DAY) return twoUnits(minutes, 60, "h", "min");
  return twoUnits(Math.round(abs / HOUR), 24, "d", "h");
}

/**
 * @param {number} count
 * @param {number} per
 * @param {string} large
 * @param {string} small
 */
function twoUnits(count, per, large, small) {
  const rest = count % per;
  const first = `${Math.floor(count / per)} ${large}`;
  return rest ? `${first} ${rest} ${small}` : first;
}

/**
 * Format the distance from `now`: "in 12 min", "3 h ago", "now".
 * @param {Moment} moment
 * @param {number} now
 */
export function fromNow(moment, now) {
  const left = ms(moment) - now;
  if (Math.abs(left) < SECOND) return "now";
  return left > 0 ? `in ${span(left)}` : `${span(left)} ago`;
}

/**
 * Parse a duration such as 90, 90s, 20m, 2h30m or 1d.
 * @param {string} text
 * @returns {number | null} in seconds; null if it is not a duration
 */
export function parseDuration(text) {
  const trimmed = text.trim().replace(/\s+/g, "");
  if (/^\d{1,9}$/.test(trimmed)) return Number(trimmed);
  const parts = trimmed ? DURATION.exec(trimmed) : null;
  if (parts === null) return null;
  return SIZES.reduce((sum, size, i) => sum + Number(parts[i + 1] ?? 0) * size, 0);
}

/**
 * Return the error message for an invalid duration.
 * @param {string} text
 */
export function durationError(text) {
  return `“${text.trim()}” is not a valid duration. Examples: 90s, 20m, 1h30m.`;
}
