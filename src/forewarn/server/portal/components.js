// Components shared by all pages: times, countdowns, badges, titles and counts.

import { countdown, fromNow, local, ms, utc } from "./times.js";
import { html, useNow } from "./view.js";

/** @typedef {import("./types").Item} Item */
/** @typedef {import("./types").Maintenance} Maintenance */

/**
 * A time in the viewer's time zone, with UTC on hover.
 * @param {{at: string | number, relative?: boolean}} props
 */
export function Time({ at, relative = false }) {
  const now = useNow();
  const iso = new Date(ms(at)).toISOString();
  const text = relative ? fromNow(at, now) : local(at, now);
  const title = relative ? `${local(at, now)} (${utc(at)})` : utc(at);
  return html`<time datetime=${iso} title=${title}>${text}</time>`;
}

/**
 * The time left until a moment on the service's clock.
 * @param {{to: string}} props
 */
export function Countdown({ to }) {
  const left = ms(to) - useNow();
  const text = left > 0 ? countdown(left) : "0:00";
  return html`<time
    class="countdown"
    role="timer"
    aria-live="off"
    datetime=${new Date(ms(to)).toISOString()}
    title=${utc(to)}
    >${text}</time
  >`;
}

/** Labels of each status; most urgent first. */
export const STANDINGS = /** @type {const} */ ({
  stuck: "Stuck",
  started: "Started",
  blocked: "Blocked",
  scheduled: "Scheduled",
  completed: "Completed",
  canceled: "Canceled",
  failed: "Failed",
});

/**
 * Return the status of an item, as the service reports it.
 * @param {Item} item
 * @returns {keyof typeof STANDINGS}
 */
export function standingOf(item) {
  const { maintenance, due } = item;
  if (maintenance.ended_at) return endOf(maintenance);
  if (maintenance.stuck_since) return "stuck";
  if (maintenance.started_at) return "started";
  return due ? "blocked" : "scheduled";
}

/**
 * @param {Maintenance} maintenance
 * @returns {"completed" | "canceled" | "failed"}
 */
function endOf({ phase }) {
  if (phase === "CANCELED") return "canceled";
  return phase === "FAILED" ? "failed" : "completed";
}

/** @param {{item: Item}} props */
export function Standing({ item }) {
  const standing = standingOf(item);
  return html`<span class="badge ${standing}">${STANDINGS[standing]}</span>`;
}

/**
 * Return a title such as "Reboot of host-a" or "Freeze of web-0". The groups on a
 * degraded host leave separately, so VMs are added: "Redeploy of host-a (web-0)".
 * @param {Maintenance} maintenance
 */
export function titleOf({ type, host, vms, cause }) {
  if (host !== null && cause === "degraded") return `${type} of ${host} (${few(vms)})`;
  return `${type} of ${host ?? few(vms)}`;
}

/**
 * Join the first few names and count the others: "a, b, c and 4 more".
 * @param {string[]} names
 * @param {number} most
 */
export function few(names, most = 3) {
  if (names.length <= most + 1) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/**
 * Return a number with its noun: "1 VM", "2 VMs".
 * @param {number} number
 * @param {string} noun
 * @param {string} plural
 */
export function count(number, noun, plural = `${noun}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? noun : plural}`;
}
