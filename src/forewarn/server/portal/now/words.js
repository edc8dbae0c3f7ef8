// Words for what an item is, who has seen it and who has approved it.

import { WAYS } from "./fact_words.js";
import { count } from "../parts.js";
import { isWithdrawn } from "./sections.js";
import { span } from "../times.js";

/** @typedef {import("../types").Maintenance} Maintenance */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

/** @type {Record<string, string>} */
export const CAUSES = {
  platform: "planned work on the platform",
  degraded: "hardware that is predicted to fail",
  "host-failure": "hardware that has failed",
  "user-restart": "a user asked for a restart",
  "user-redeploy": "a user asked for a redeploy",
  eviction: "a spot VM is taken back",
  "scale-in": "a VM is deleted",
  reimage: "a VM gets a new image",
};

/**
 * Say where a maintenance comes from: its source and cause.
 * @param {Maintenance} maintenance
 */
export function originOf({ source, cause }) {
  return `${source}: ${CAUSES[cause] ?? cause}`;
}

/**
 * Say how many have seen an event: "seen by 1 of 2 VMs, and 1 other" (of the group).
 * @param {import("./sections.js").Sighting} sighting
 */
export function seenWords({ touched, others, missing }) {
  if (!touched.length && !others.length) return "not seen yet";
  const all = touched.length + missing.length;
  const begin = `seen by ${touched.length} of ${count(all, "VM")}`;
  if (!others.length) return begin;
  return `${begin}, and ${count(others.length, "other")}`;
}

/**
 * Say by whom an event was approved, and how; not when.
 * @param {Maintenance} maintenance
 * @param {ScheduledEvent} event
 */
export function approvedWords(maintenance, event) {
  if (event.approved_at) {
    const way = WAYS[event.approved_via ?? ""] ?? `via ${event.approved_via}`;
    const by = event.approved_by && event.approved_via !== "policy";
    return by ? `approved by ${event.approved_by}, ${way}` : `approved ${way}`;
  }
  if (isWithdrawn(maintenance, event)) return "withdrawn: all its VMs have left";
  const isOver = maintenance.started_at || maintenance.ended_at;
  return isOver ? "not approved" : "not approved yet";
}

/**
 * Say how long the work is expected to take.
 * @param {number} seconds -1: that is not known
 */
export function durationWords(seconds) {
  return seconds < 0 ? "not known beforehand" : span(seconds * 1000);
}
