// How far a clock is moved, and in words what kind of clock it is.

import { rateOf } from "../service/clock.js";
import { ms } from "../times.js";

/** @typedef {{seconds: number} | {to: string}} Step */

/**
 * Say what kind of clock one of this name is.
 * @param {string} name
 */
export function kindOf(name) {
  if (name === "manual") return "moves by hand";
  const rate = rateOf(name);
  return rate >= 1 ? `${rate} times as fast` : `at ${rate} of the usual speed`;
}

/**
 * Find the next NotBefore of what has not started.
 * @param {import("../types").Item[]} items
 * @param {number} now
 * @returns {string | null} null: there is none
 */
export function nextNotBefore(items, now) {
  /** @type {string | null} */
  let next = null;
  for (const { maintenance } of items) {
    const { not_before, started_at } = maintenance;
    if (started_at || ms(not_before) <= now) continue;
    if (next === null || ms(not_before) < ms(next)) next = not_before;
  }
  return next;
}

/**
 * Reckon where a step leads to.
 * @param {Step} step
 * @param {number} now
 * @returns {number} in ms
 */
export function stepOf(step, now) {
  return "to" in step ? ms(step.to) : now + step.seconds * 1000;
}
