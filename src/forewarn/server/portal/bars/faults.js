// Faults in words: what goes wrong, whom it befalls, how much is left.

import { count, few } from "../parts.js";
import { countdown } from "../times.js";

/** @typedef {import("../types").Fault} Fault */

/** @type {Record<string, string>} */
const KINDS = {
  "slow-first-call": "the first call of each VM is answered late",
  slow: "answered late",
  429: "answered 429, too many requests",
  410: "answered 410, gone",
  500: "answered 500, an error",
  503: "answered 503, unavailable",
  reset: "the connection is reset",
  truncated: "the answer ends in its middle",
  empty: "the answer is empty",
  stale: "the document is an old one",
  refused: "nobody listens",
};

/** @type {Record<string, string>} */
const REQUESTS = {
  any: "all requests",
  read: "reads",
  approve: "approvals",
};

/**
 * Say what a fault does.
 * @param {Fault} fault
 */
export function whatOf({ kind, delay_seconds: delay, probability }) {
  const parts = [KINDS[kind] ?? kind];
  if (delay) parts.push(`by ${delay} s`);
  if (probability !== undefined && probability < 1) {
    parts.push(`in ${Math.round(probability * 100)} % of cases`);
  }
  return parts.join(" ");
}

/**
 * Say whom a fault befalls.
 * @param {Fault} fault
 */
export function whomOf({ on, vms }) {
  return `${REQUESTS[on] ?? on} of ${vms.length ? few(vms) : "all VMs"}`;
}

/**
 * Say how much of a fault is left.
 * @param {Fault} fault
 * @param {number} elapsed real ms since it was told
 */
export function leftOf({ left, left_seconds: seconds }, elapsed) {
  const parts = [];
  if (left !== null) parts.push(`${count(left, "request")} left`);
  if (seconds !== null) parts.push(`${countdown(seconds * 1000 - elapsed)} left`);
  return parts.join(", ") || "until it is cleared";
}
