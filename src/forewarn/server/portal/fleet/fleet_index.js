// The fleet's columns turned into who is where, so that nothing is searched for twice.

/** @typedef {import("../types").FleetMap} FleetMap */

/**
 * How far a VM is from being heard: its group is silent, or others of its group ask
 * while it does not.
 * @typedef {"silent" | "unheard" | null} Silence
 */

/**
 * @typedef {object} FleetIndex everything by its place in the columns of the map
 * @property {FleetMap} map
 * @property {number[][]} ofGroup the VMs of each group
 * @property {number[][]} ofHost the VMs of each host, group by group
 * @property {number[]} homeless VMs without a host
 * @property {number[]} groupsOfHost how many groups each host holds VMs of
 * @property {boolean[]} isParted whether each group has update domains
 * @property {(number | null)[]} columns the update domains, none (null) the last
 * @property {Silence[]} silence of each VM
 * @property {string[]} texts what a word is looked for in, of each VM
 * @property {Map<string, number>} vmNamed
 * @property {Map<string, number>} groupNamed
 * @property {Map<string, number>} hostNamed
 */

const LONG_AGO = 24 * 3600 * 1000; // ms; as long as it takes a group to be silent

/**
 * Find out who is where.
 * @param {FleetMap} map
 * @returns {FleetIndex}
 */
export function indexOf(map) {
  const { vms, groups, hosts } = map;
  const ofGroup = groups.map(() => /** @type {number[]} */ ([]));
  const ofHost = hosts.map(() => /** @type {number[]} */ ([]));
  /** @type {number[]} */
  const homeless = [];
  for (let vm = 0; vm < vms.name.length; vm += 1) {
    const host = vms.host[vm];
    ofGroup[vms.group[vm] ?? -1]?.push(vm);
    (host == null ? homeless : ofHost[host])?.push(vm);
  }
  const byGroup = (/** @type {number} */ one, /** @type {number} */ other) =>
    (vms.group[one] ?? 0) - (vms.group[other] ?? 0) || one - other;
  for (const each of [...ofHost, homeless]) each.sort(byGroup);
  return {
    map,
    ofGroup,
    ofHost,
    homeless,
    groupsOfHost: ofHost.map((all) => new Set(all.map((vm) => vms.group[vm])).size),
    ...domains(map),
    silence: silences(map),
    texts: vms.name.map((_, vm) => textOf(map, vm)),
    vmNamed: placesOf(vms.name),
    groupNamed: placesOf(groups.map((each) => each.name)),
    hostNamed: placesOf(hosts),
  };
}

/**
 * Find the update domains; VMs without one need a column only beside others of theirs.
 * @param {FleetMap} map
 * @returns {{isParted: boolean[], columns: (number | null)[]}}
 */
function domains({ groups, vms }) {
  const isParted = groups.map(() => false);
  const used = new Set();
  vms.update_domain.forEach((domain, vm) => {
    if (domain === null) return;
    used.add(domain);
    isParted[vms.group[vm] ?? -1] = true;
  });
  const isMixed = vms.update_domain.some(
    (domain, vm) => domain === null && isParted[vms.group[vm] ?? -1],
  );
  const columns = [...used].sort((one, other) => one - other);
  return { isParted, columns: isMixed ? [...columns, null] : columns };
}

/**
 * @param {FleetMap} map
 * @returns {Silence[]}
 */
function silences({ now, groups, vms }) {
  const limit = Date.parse(now) - LONG_AGO;
  const isSilent = groups.map((each) => each.is_silent);
  return vms.asked.map((asked, vm) => {
    if (isSilent[vms.group[vm] ?? -1]) return "silent";
    return asked !== null && Date.parse(asked) > limit ? null : "unheard";
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
function placesOf(names) {
  return new Map(names.map((name, at) => [name, at]));
}

/**
 * Say in a few words all that a VM's square shows.
 * @param {FleetIndex} index
 * @param {number} vm
 */
export function wordsOf({ map, silence }, vm) {
  const { vms, groups, hosts } = map;
  const domain = vms.update_domain[vm];
  const host = hosts[vms.host[vm] ?? -1];
  const words = [
    vms.name[vm],
    `group ${groups[vms.group[vm] ?? -1]?.name}`,
    domain == null ? "no update domain" : `update domain ${domain}`,
    host === undefined ? "no host" : `on ${host}`,
  ];
  if (vms.spot[vm]) words.push("spot");
  if (silence[vm] === "silent") words.push("silent");
  if (silence[vm] === "unheard") words.push("has not asked itself");
  return words.join(", ");
}
