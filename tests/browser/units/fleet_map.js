// Fleet maps for tests.

/** @typedef {import("../../../src/forewarn/server/portal/types").FleetMap} FleetMap */

export const NOON = "2026-11-16T12:00:00Z";

const HOSTS = ["host-a", "host-b", "host-c"];
const GROUPS = ["web", "db-0", "batch", "nobody"];

/** Name, group, host, update domain, spot, last request, deallocated. */
const VMS = [
  ["web-0", 0, 0, 0, false, "2026-11-16T11:59:00Z"],
  ["web-1", 0, 1, 1, false, "2026-11-15T11:59:00Z"],
  ["web-2", 0, 0, 1, false, null],
  ["db-0", 1, 0, null, false, null],
  ["batch_0", 2, 1, null, true, "2026-11-16T11:59:00Z"],
  ["batch_1", 2, null, 2, true, "2026-11-16T11:59:00Z", true],
];

/**
 * A small fleet: host-a has two VMs of web, and db-0, whose group is disabled; batch_1
 * has no host.
 * @returns {FleetMap}
 */
export function aFleet() {
  const column = (/** @type {number} */ at) =>
    /** @type {any[]} */ (VMS.map((vm) => vm[at]));
  return {
    position: 7,
    now: NOON,
    hosts: [...HOSTS],
    groups: GROUPS.map((name) => ({
      name,
      kind: name === "db-0" ? "standalone" : "availability-set",
      enabled: "on-demand",
      is_disabled: name === "db-0",
      last_request: name === "db-0" ? null : NOON,
    })),
    vms: {
      name: column(0),
      group: column(1),
      host: column(2),
      update_domain: column(3),
      spot: column(4),
      deallocated: VMS.map((vm) => vm[6] === true),
      last_request: column(5),
    },
  };
}

/**
 * A fleet of `size` VMs, ten per group, spread over hosts and five update domains.
 * @param {number} size
 * @param {number} hosts
 * @returns {FleetMap}
 */
export function aLargeFleet(size, hosts) {
  const numbers = Array.from({ length: size }, (_, at) => at);
  const groups = Array.from({ length: Math.ceil(size / 10) }, (_, at) => at);
  return {
    ...aFleet(),
    hosts: Array.from({ length: hosts }, (_, at) => `host-${at}`),
    groups: groups.map((at) => ({
      name: `group-${at}`,
      kind: "availability-set",
      enabled: "on-demand",
      is_disabled: false,
      last_request: null,
    })),
    vms: {
      name: numbers.map((at) => `vm-${at}`),
      group: numbers.map((at) => Math.floor(at / 10)),
      host: numbers.map((at) => at % hosts),
      update_domain: numbers.map((at) => at % 5),
      spot: numbers.map(() => false),
      deallocated: numbers.map(() => false),
      last_request: numbers.map(() => null),
    },
  };
}
