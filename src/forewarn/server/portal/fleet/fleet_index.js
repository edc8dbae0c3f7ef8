// Index of the fleet map: VMs by group, host and name, computed once per map.

/** @typedef {import("../types").FleetMap} FleetMap */

/**
 * Why a VM receives no events: its group is disabled, or only this VM does not poll.
 * @typedef {"disabled" | "not-polling" | null} Silence
 */

/**
 * @typedef {object} FleetIndex VMs, groups and hosts are indexes into the map's columns
 * @property {FleetMap} map
 * @property {number[][]} ofGroup the VMs of each group
 * @property {number[][]} ofHost the VMs of each host, group by group
 * @property {number[]} unplaced VMs without a host
 * @property {number[]} groupsOfHost number of groups on each host
 * @property {boolean[]} hasDomains whether each group has update domains
 * @property {(number | null)[]} columns update domains; null (no update domain) is last
 * @property {Silence[]} silence of each VM
 * @property {string[]} texts searchable text of each VM
 * @property {Map<string, number>} vmByName
 * @property {Map<string, number>} groupByName
 * @property {Map<string, number>} hostByName
 */

const SILENT_AFTER = 24 * 3600 * 1000; // ms without a request

/**
 * Build the index of a fleet map.
 * @param {FleetMap} map
 * @returns {FleetIndex}
 */
export function indexOf(map) {
  const { vms, groups, hosts } = map;
  const ofGroup = groups.map(() => /** @type {number[]} */ ([]));
  const ofHost = hosts.map(() => /** @type {number[]} */ ([]));
  /** @type {number[]} */
  const unplaced = [];
  vms.host.forEach((host, vm) => {
    ofGroup[vms.group[vm] ?? -1]?.push(vm);
    (host == null ? unplaced : ofHost[host])?.push(vm);
  });
  const byGroup = (/** @type {number} */ a, /** @type {number} */ b) =>
    (vms.group[a] ?? 0) - (vms.group[b] ?? 0) || a - b;
  for (const list of [...ofHost, unplaced]) list.sort(byGroup);
  return {
    map,
    ofGroup,
    ofHost,
    unplaced,
    groupsOfHost: ofHost.map((list) => new Set(list.map((vm) => vms.group[vm])).size),
    ...domains(map),
    silence: silenceOf(map),
    texts: vms.name.map((_, vm) => textOf(map, vm)),
    vmByName: positionsByName(vms.name),
    groupByName: positionsByName(groups.map(({ name }) => name)),
    hostByName: positionsByName(hosts),
  };
}

/**
 * Return the columns of the grid. VMs without an update domain need a column only if
 * other VMs in their group have one.
 * @param {FleetMap} map
 * @returns {{hasDomains: boolean[], columns: (number | null)[]}}
 */
function domains({ groups, vms }) {
  const hasDomains = groups.map(() => false);
  const used = new Set();
  vms.update_domain.forEach((domain, vm) => {
    if (domain === null) return;
    used.add(domain);
    hasDomains[vms.group[vm] ?? -1] = true;
  });
  const isMixed = vms.update_domain.some(
    (domain, vm) => domain === null && hasDomains[vms.group[vm] ?? -1],
  );
  const columns = [...used].sort((a, b) => a - b);
  return { hasDomains, columns: isMixed ? [...columns, null] : columns };
}

/**
 * @param {FleetMap} map
 * @returns {Silence[]}
 */
function silenceOf({ now, groups, vms }) {
  const limit = Date.parse(now) - SILENT_AFTER;
  const isDisabled = groups.map((group) => group.is_disabled);
  return vms.last_request.map((at, vm) => {
    if (isDisabled[vms.group[vm] ?? -1]) return "disabled";
    return at !== null && Date.parse(at) > limit ? null : "not-polling";
  });
}

/**
 * @param {FleetMap} map
 * @param {number} vm
 */
function textOf({ groups, hosts, vms }, vm) {
  const host = hosts[vms.host[vm] ?? -1] ?? "";
  const group = groups[vms.group[vm] ?? -1]?.name ?? "";
  return `${vms.name[vm]}\n${group}\n${host}`.toLowerCase();
}

/** @param {string[]} names */
function positionsByName(names) {
  return new Map(names.map((name, at) => [name, at]));
}

/**
 * Describe everything that a VM's square shows.
 * @param {FleetIndex} index
 * @param {number} vm
 */
export function vmLabel({ map, silence }, vm) {
  const { vms, groups, hosts } = map;
  const domain = vms.update_domain[vm];
  const host = hosts[vms.host[vm] ?? -1];
  const parts = [
    vms.name[vm],
    `group ${groups[vms.group[vm] ?? -1]?.name}`,
    domain == null ? "no update domain" : `update domain ${domain}`,
    host === undefined ? "no host" : `on ${host}`,
  ];
  if (vms.spot[vm]) parts.push("spot");
  if (vms.deallocated[vm]) parts.push("deallocated");
  if (silence[vm] === "disabled") parts.push("Scheduled Events disabled");
  if (silence[vm] === "not-polling") parts.push("not polling");
  return parts.join(", ");
}
