// Small components that all pages share: times, countdowns, badges, names of events.

import { countdown, fromNow, local, ms, utc } from "./times.js";
import { html, useNow } from "./view.js";

/** @typedef {import("./types").Item} Item */
/** @typedef {import("./types").Maintenance} Maintenance */

/**
 * A moment in the viewer's zone, UTC on hover.
 * @param {{at: string | number, relative?: boolean}} props
 */
export function Time({ at, relative = false }) {
  const now = useNow();
  const iso = new Date(ms(at)).toISOString();
  const shown = relative ? fromNow(at, now) : local(at, now);
  const title = relative ? `${local(at, now)} (${utc(at)})` : utc(at);
  return html`<time datetime=${iso} title=${title}>${shown}</time>`;
}

/**
 * What is left until a moment, by the service's clock.
 * @param {{to: string}} props
 */
export function Countdown({ to }) {
  const left = ms(to) - useNow();
  const said = left > 0 ? countdown(left) : "0:00";
  return html`<time
    class="countdown"
    role="timer"
    aria-live="off"
    datetime=${new Date(ms(to)).toISOString()}
    title=${utc(to)}
    >${said}</time
  >`;
}

/** How an item stands, in one word; the order is that of urgency. */
export const STANDINGS = /** @type {const} */ ({
  stuck: "Stuck",
  started: "Started",
  gate: "At a gate",
  scheduled: "Scheduled",
  completed: "Completed",
  canceled: "Canceled",
  failed: "Failed",
});

/**
 * Say how an item stands, by what the service says of it.
 * @param {Item} item
 * @returns {keyof typeof STANDINGS}
 */
export function standingOf(item) {
  const { maintenance, due } = item;
  if (maintenance.ended_at) return ended(maintenance);
  if (maintenance.stuck_since) return "stuck";
  if (maintenance.started_at) return "started";
  return due ? "gate" : "scheduled";
}

/**
 * @param {Maintenance} maintenance
 * @returns {"completed" | "canceled" | "failed"}
 */
function ended({ phase }) {
  if (phase === "CANCELED") return "canceled";
  return phase === "FAILED" ? "failed" : "completed";
}

/** @param {{item: Item}} props */
export function Standing({ item }) {
  const standing = standingOf(item);
  return html`<span class="badge ${standing}">${STANDINGS[standing]}</span>`;
}

/**
 * Name what a maintenance does to whom: "Reboot of host-a", "Freeze of web-0".
 * @param {Maintenance} maintenance
 */
export function titleOf({ type, host, vms }) {
  return `${type} of ${host ?? few(vms)}`;
}

/**
 * Name a few, and count the others.
 * @param {string[]} names
 * @param {number} most
 */
export function few(names, most = 3) {
  if (names.length <= most + 1) return names.join(", ");
  return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
}

/**
 * Count: "1 VM", "2 VMs".
 * @param {number} number
 * @param {string} noun
 */
export function count(number, noun) {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
