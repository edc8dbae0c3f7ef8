// What an id stands for, as far as the page knows it.

import { titleOf } from "../parts.js";

/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * Name maintenances and events by their ids: "Reboot of host-a".
 * @param {Map<string, import("../types").Item>} items
 * @param {import("../types").Entry[]} facts
 * @returns {(id: string) => string | null} null: it is not known
 */
export function namesOf(items, facts) {
  /** @type {Map<string, Maintenance> | null} */
  let others = null; // found when one is asked for: most are not
  return (id) => {
    const item = items.get(id);
    if (item) return titleOf(item.maintenance);
    others ??= gathered(items, facts);
    const found = others.get(id);
    return found ? titleOf(found) : null;
  };
}

/**
 * @param {Map<string, import("../types").Item>} items
 * @param {import("../types").Entry[]} facts
 */
function gathered(items, facts) {
  /** @type {Map<string, Maintenance>} */
  const found = new Map();
  const keep = (/** @type {Maintenance} */ maintenance) => {
    found.set(maintenance.id, maintenance);
    for (const event of maintenance.events) found.set(event.id, maintenance);
  };
  for (const { announced } of facts) {
    if (announced) keep(/** @type {Maintenance} */ (announced));
  }
  for (const { maintenance } of items.values()) keep(maintenance);
  return found;
}
