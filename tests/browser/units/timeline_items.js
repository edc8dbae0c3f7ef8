// Maintenances for tests: each shows only what matters to it.

export const MINUTE = 60_000;
export const NOON = Date.parse("2026-11-16T12:00:00Z");

/**
 * Write the time that many minutes after noon.
 * @param {number} minutes
 */
export function at(minutes) {
  return new Date(NOON + minutes * MINUTE).toISOString();
}

/** @typedef {import("../../../src/forewarn/server/portal/types").Item} Item */

/**
 * @typedef {object} Given besides what a maintenance has
 * @property {string[]} [groups]
 * @property {Record<string, [string, string]>} [approved] by group: by whom, and when
 */

/**
 * Make what the overview shows of a maintenance.
 * @param {Given & Partial<Item["maintenance"]>} [given]
 * @returns {Item}
 */
export function anItem({ groups = ["web"], approved = {}, ...given } = {}) {
  const id = given.id ?? "m0";
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
    ...given,
  };
  const nothing = { due: false, waits: [], starts_at_latest: null, can: [], seen: [] };
  return { maintenance, ...nothing };
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
