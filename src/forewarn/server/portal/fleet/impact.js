// What the maintenance of one host would touch, in numbers and in sentences.
// Says above the grid what the maintenance of a host would touch.

import { count, few } from "../components.js";
import { html, useMemo } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */

/**
 * @typedef {object} Share what of one group is on the host
 * @property {string} group
 * @property {number} vms
 * @property {number} total VMs of the group, wherever they are
 * @property {number[]} domains the update domains touched
 * @property {boolean} isDefeated whether several update domains go down at once
 */

/**
 * @typedef {object} Reach
 * @property {string} host
 * @property {number} vms
 * @property {Share[]} shares those first whose update domains are defeated
 */

/**
 * Find what a maintenance of the host would touch.
 * @param {FleetIndex} index
 * @param {number} host
 * @returns {Reach}
 */
export function reachOf(index, host) {
  const { map, ofHost } = index;
  const held = ofHost[host] ?? [];
  /** @type {Map<number, number[]>} */
  const byGroup = new Map();
  for (const vm of held) {
    const group = map.vms.group[vm] ?? -1;
    const same = byGroup.get(group);
    if (same) same.push(vm);
    else byGroup.set(group, [vm]);
  }
  const shares = [...byGroup].map(([group, vms]) => shareOf(index, group, vms));
  shares.sort((one, other) => Number(other.isDefeated) - Number(one.isDefeated));
  return { host: map.hosts[host] ?? "", vms: held.length, shares };
}

/**
 * Name the hosts whose maintenance would touch several update domains of a group.
 * @param {FleetIndex} index
 */
export function defeats(index) {
  const isDefeated = (/** @type {string} */ _, /** @type {number} */ host) =>
    reachOf(index, host).shares[0]?.isDefeated; // those come first
  return index.map.hosts.filter(isDefeated);
}

/**
 * @param {FleetIndex} index
 * @param {number} group
 * @param {number[]} vms
 * @returns {Share}
 */
function shareOf({ map, ofGroup }, group, vms) {
  const domains = new Set();
  for (const vm of vms) {
    const domain = map.vms.update_domain[vm];
    if (domain != null) domains.add(domain);
  }
  return {
    group: map.groups[group]?.name ?? "",
    vms: vms.length,
    total: ofGroup[group]?.length ?? 0,
    domains: [...domains].sort((one, other) => one - other),
    isDefeated: domains.size > 1,
  };
}

/**
 * Say in one sentence how much would be touched.
 * @param {Reach} reach
 */
export function headline({ host, vms, shares }) {
  if (!vms) return `Maintenance of ${host} would touch nothing: no VM is there.`;
  const groups = count(shares.length, "group");
  return `Maintenance of ${host} would touch ${count(vms, "VM")} of ${groups} at once.`;
}

/**
 * Say what of one group would be touched.
 * @param {Share} share
 */
export function sentenceOf({ vms, total, domains, isDefeated }) {
  const parts = [];
  if (domains.length) parts.push(domainsOf(domains));
  if (vms < total) parts.push(`${number(vms)} of ${count(total, "VM")}`);
  else parts.push(total === 1 ? "its only VM" : `all ${number(total)} VMs`);
  const said = parts.join(", ");
  if (!isDefeated) return said;
  const lost = domains.length === 2 ? "two" : number(domains.length);
  return `${said}; loses ${lost} update domains at once: the placement defeats them`;
}

/** @param {number[]} domains */
function domainsOf(domains) {
  if (domains.length === 1) return `update domain ${domains[0]}`;
  return `update domains ${domains.slice(0, -1).join(", ")} and ${domains.at(-1)}`;
}

/** @param {number} size */
function number(size) {
  return size.toLocaleString("en");
}

const MOST = 2; // groups that are told of here; the details tell of all

/**
 * @param {{
 *   index: import("./fleet_index.js").FleetIndex,
 *   pointed: number | null,
 *   host: number | null,
 *   isOnly: boolean,
 *   setOnly: (isOnly: boolean) => void,
 * }} props `host`: the chosen one
 */
export function ReachBar({ index, pointed, host, isOnly, setOnly }) {
  const shown = pointed ?? host;
  const reach = useMemo(
    () => (shown === null ? null : reachOf(index, shown)),
    [index, shown],
  );
  return html`<div class="fleet-reach card">
    <div role="status">
      ${reach === null && html`<${Hint} index=${index} />`}
      ${
        reach !== null &&
        html`<strong>${headline(reach)}</strong>
        <${Shares} shares=${reach.shares} />`
      }
    </div>
    ${
      host !== null &&
      html`<label class="only">
      <input
        type="checkbox"
        checked=${isOnly}
        onChange=${() => setOnly(!isOnly)}
      />${" "}Only what ${index.map.hosts[host]} touches
    </label>`
    }
  </div>`;
}

/** @param {{index: import("./fleet_index.js").FleetIndex}} props */
function Hint({ index }) {
  const hosts = useMemo(() => defeats(index), [index]);
  const silent = index.map.groups.filter((each) => each.is_silent);
  return html`<p class="soft">
      Point at a host to see what its maintenance would touch; choose it to keep that.
    </p>
    ${
      hosts.length > 0 &&
      html`<p class="defeated">
      ${count(hosts.length, "host")} would take several update domains of a group down
      at once: ${few(hosts, 5)}.
    </p>`
    }
    ${
      silent.length > 0 &&
      html`<p>
      Silent, not having asked for events in 24 h:
      ${" "}${few(
        silent.map((each) => each.name),
        5,
      )}.
    </p>`
    }`;
}

/** @param {{shares: Share[]}} props */
function Shares({ shares }) {
  const rest = shares.length - MOST;
  return html`<ul>
    ${shares.slice(0, MOST).map(
      (each) => html`<li key=${each.group} class=${each.isDefeated ? "defeated" : ""}>
        <span class="group">${each.group}</span>: ${sentenceOf(each)}
      </li>`,
    )}
    ${rest > 0 && html`<li class="soft">and ${count(rest, "more group")}</li>`}
  </ul>`;
}
