// Phrases for journal entries, and for the origin, sightings and approvals of
// maintenance.

import { count, titleOf } from "../components.js";
import { span } from "../times.js";
import { isWithdrawn } from "./sections.js";

/** @typedef {import("../types").Entry} Entry */
/** @typedef {import("../types").Maintenance} Maintenance */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

/** @typedef {(id: string) => string | null} NameOf null if the id is unknown */

/** @type {Record<string, string>} */
const APPROVAL_PATHS = {
  metadata: "via the metadata endpoint",
  control: "via the control API",
  arm: "via Azure's Resource Manager API",
  policy: "in advance by the group's settings",
};

/**
 * Describe a journal entry in a sentence without a period; its times are in UTC.
 * @param {Entry} entry
 * @param {NameOf} nameOf
 * @returns {string}
 */
export function factSentence(entry, nameOf = () => null) {
  const { fact, maintenance: id, text } = entry;
  if (typeof id === "string" && fact !== "Announced")
    return `${nameOf(id) ?? `Maintenance ${id}`}: ${text}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}

// --- maintenance and events -----------------------------------------------------

/** @type {Record<string, string>} */
const CAUSES = {
  platform: "planned maintenance",
  degraded: "predicted hardware failure",
  "host-failure": "hardware failure",
  "user-restart": "user-requested restart",
  "user-redeploy": "user-requested redeploy",
  eviction: "spot VM eviction",
  "scale-in": "VM deletion",
  reimage: "VM reimage",
};

/**
 * Describe the source and cause of a maintenance operation.
 * @param {Maintenance} maintenance
 */
export function originOf({ source, cause }) {
  return `${source}: ${CAUSES[cause] ?? cause}`;
}

/**
 * Count the VMs that have seen an event: "seen by 1 of 2 VMs and 1 other" (another VM
 * of the same group).
 * @param {import("./sections.js").Sighting} sighting
 */
export function seenPhrase({ affected, others, missing }) {
  if (!affected.length && !others.length) return "not seen yet";
  const total = affected.length + missing.length;
  const start = `seen by ${affected.length} of ${count(total, "VM")}`;
  if (!others.length) return start;
  return `${start} and ${count(others.length, "other")}`;
}

/**
 * Describe who approved an event and via which API, without the time.
 * @param {Maintenance} maintenance
 * @param {ScheduledEvent} event
 */
export function approvalPhrase(maintenance, event) {
  if (event.approved_at) {
    const way = APPROVAL_PATHS[event.approved_via ?? ""] ?? `via ${event.approved_via}`;
    const by = event.approved_by && event.approved_via !== "policy";
    return by ? `approved by ${event.approved_by} ${way}` : `approved ${way}`;
  }
  if (isWithdrawn(maintenance, event)) return "withdrawn: all of its VMs have left";
  const isOver = maintenance.started_at || maintenance.ended_at;
  return isOver ? "not approved" : "not approved yet";
}

/**
 * Describe the expected duration of the work.
 * @param {number} seconds -1 if unknown
 */
export function durationPhrase(seconds) {
  return seconds < 0 ? "unknown" : span(seconds * 1000);
}

// --- titles ----------------------------------------------------------------------

/**
 * Return a function that looks up the title of a maintenance or event by its id:
 * "Reboot of host-a".
 * @param {Map<string, import("../types").Item>} items
 * @param {Entry[]} facts
 * @returns {NameOf}
 */
export function namesOf(items, facts) {
  /** @type {Map<string, Maintenance> | null} */
  let byId = null; // built on demand: most ids are in `items`
  return (id) => {
    const item = items.get(id);
    if (item) return titleOf(item.maintenance);
    byId ??= maintenancesById(items, facts);
    const maintenance = byId.get(id);
    return maintenance ? titleOf(maintenance) : null;
  };
}

/**
 * @param {Map<string, import("../types").Item>} items
 * @param {Entry[]} facts
 */
function maintenancesById(items, facts) {
  /** @type {Map<string, Maintenance>} */
  const byId = new Map();
  const add = (/** @type {Maintenance} */ maintenance) => {
    byId.set(maintenance.id, maintenance);
    for (const event of maintenance.events) byId.set(event.id, maintenance);
  };
  for (const { announced } of facts) {
    if (announced) add(/** @type {Maintenance} */ (announced));
  }
  for (const { maintenance } of items.values()) add(maintenance);
  return byId;
}
