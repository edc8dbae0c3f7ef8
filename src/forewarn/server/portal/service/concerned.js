// Which maintenances a fact concerns, so that they are asked for again.

/** @typedef {import("../types").Entry} Entry */

/**
 * Find the ids of the maintenances or events that a fact tells of.
 * @param {Entry} entry
 * @returns {string[]}
 */
export function concerned(entry) {
  const sights = /** @type {{event: string}[]} */ (entry.sights ?? []);
  const ids = sights.map((each) => each.event);
  return typeof entry.maintenance === "string" ? [entry.maintenance, ...ids] : ids;
}

/**
 * Whether the fleet is not as it was.
 * @param {Entry} entry
 */
export function changesFleet(entry) {
  return entry.fact === "FleetChanged" || entry.fact === "ListeningBegan";
}
