// What can be asked for one maintenance, VM or host, as buttons.

/**
 * @param {{item: import("./types").Item}} props
 * @returns {unknown}
 */
export function MaintenanceActs({ item }) {
  void item;
  return null;
}

/**
 * @param {{name: string, isSpot: boolean}} props
 * @returns {unknown}
 */
export function VmActs({ name, isSpot }) {
  void [name, isSpot];
  return null;
}

/**
 * @param {{name: string}} props
 * @returns {unknown}
 */
export function HostActs({ name }) {
  void name;
  return null;
}

/**
 * @param {{name: string}} props
 * @returns {unknown}
 */
export function GroupActs({ name }) {
  void name;
  return null;
}
