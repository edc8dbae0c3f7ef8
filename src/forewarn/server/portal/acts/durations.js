// Lengths of time as people write them: 90, 90s, 20m, 2h30m, 1d.

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
