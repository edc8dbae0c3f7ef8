// Builders of maintenance for the timeline; every field has a default.

export const MINUTE = 60_000;
export const NOON = Date.parse("2026-11-16T12:00:00Z");

/**
 * Return the time `minutes` after noon in RFC 3339.
 * @param {number} minutes
 */
export function at(minutes) {
  return new Date(NOON + minutes * MINUTE).toISOString();
}

/** @typedef {import("../../../src/forewarn/server/portal/types").Item} Item */

/**
 * @typedef {object} Options in addition to the fields of a maintenance
 * @property {string[]} [groups]
 * @property {Record<string, [string, string]>} [approved] approver and time, by group
 */

/**
 * Create an item of the overview.
 * @param {Options & Partial<Item["maintenance"]>} [options]
 * @returns {Item}
 */
export function anItem({ groups = ["web"], approved = {}, ...fields } = {}) {
  const id = fields.id ?? "m0";
  const maintenance = {
    id,
    type: "Reboot",
    source: "Platform",
    cause: "platform",
    phase: /** @type {const} */ ("SCHEDULED"),
    host: null,
    vms: ["web-0"],
    not_before: at(15),
    duration_seconds: -1,
    description: "",
    announced_at: at(0),
    started_at: null,
    ended_at: null,
    stuck_since: null,
    reason: null,
    events: groups.map((group) => anEvent(id, group, approved[group])),
    ...fields,
  };
  const defaults = { due: false, waits: [], starts_at_latest: null, can: [], seen: [] };
  return { maintenance, ...defaults };
}

/**
 * @param {string} maintenance
 * @param {string} group
 * @param {[string, string]} [approved]
 */
function anEvent(maintenance, group, [by, when] = ["", ""]) {
  return {
    id: `e-${group}`,
    maintenance,
    group,
    resources: [`${group}-0`],
    status: /** @type {const} */ ("Scheduled"),
    approved_by: by || null,
    approved_via: by ? "metadata" : null,
    approved_at: when || null,
    seen_by: [],
  };
}
