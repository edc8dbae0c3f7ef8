// Impact of maintenance on a host: affected VMs, groups and update domains, and the bar
// above the grid that shows them.

import { count, few } from "../components.js";
import { html, useMemo } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */

/**
 * @typedef {object} Share the part of a group on the host
 * @property {string} group
 * @property {number} vms
 * @property {number} total number of VMs in the group on all hosts
 * @property {number[]} domains the affected update domains
 * @property {boolean} spansDomains whether several update domains go down together
 */

/**
 * @typedef {object} Impact
 * @property {string} host
 * @property {number} vms
 * @property {Share[]} shares those that span several update domains come first
 */

/**
 * Return what maintenance on the host would affect.
 * @param {FleetIndex} index
 * @param {number} host
 * @returns {Impact}
 */
export function impactOf(index, host) {
  const { map, ofHost } = index;
  const held = (ofHost[host] ?? []).filter((vm) => !map.vms.deallocated[vm]);
  /** @type {Map<number, number[]>} */
  const byGroup = new Map();
  for (const vm of held) {
    const group = map.vms.group[vm] ?? -1;
    const same = byGroup.get(group);
    if (same) same.push(vm);
    else byGroup.set(group, [vm]);
  }
  const shares = [...byGroup].map(([group, vms]) => shareOf(index, group, vms));
  shares.sort((a, b) => Number(b.spansDomains) - Number(a.spansDomains));
  return { host: map.hosts[host] ?? "", vms: held.length, shares };
}

/**
 * Return the hosts on which maintenance would affect several update domains of a group.
 * @param {FleetIndex} index
 */
export function hostsSpanningDomains(index) {
  return index.map.hosts.filter((_, host) => {
    const [first] = impactOf(index, host).shares; // one that spans domains, if any
    return first?.spansDomains;
  });
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
    domains: [...domains].sort((a, b) => a - b),
    spansDomains: domains.size > 1,
  };
}

/**
 * Summarize an impact in one sentence.
 * @param {Impact} impact
 */
export function headline({ host, vms, shares }) {
  if (!vms) return `Maintenance on ${host} would affect nothing: no VMs run there.`;
  const groups = count(shares.length, "group");
  return `Maintenance on ${host} would affect ${count(vms, "VM")} in ${groups}.`;
}

/**
 * Describe the affected part of one group.
 * @param {Share} share
 */
export function shareSentence({ vms, total, domains, spansDomains }) {
  const parts = [];
  if (domains.length) parts.push(domainsOf(domains));
  if (vms < total) parts.push(`${number(vms)} of ${count(total, "VM")}`);
  else parts.push(total === 1 ? "its only VM" : `all ${number(total)} VMs`);
  const summary = parts.join(", ");
  if (!spansDomains) return summary;
  const lost = domains.length === 2 ? "two" : number(domains.length);
  const loss = `would lose ${lost} update domains at the same time`;
  return `${summary}; ${loss}`;
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

const MOST_SHARES = 2; // the details show all of them

/**
 * @param {{
 *   index: import("./fleet_index.js").FleetIndex,
 *   hovered: number | null,
 *   host: number | null,
 *   isOnly: boolean,
 *   setOnly: (isOnly: boolean) => void,
 * }} props `hovered` and `host`: indexes of the hovered and the selected host
 */
export function ImpactBar({ index, hovered, host, isOnly, setOnly }) {
  const shown = hovered ?? host;
  const impact = useMemo(
    () => (shown === null ? null : impactOf(index, shown)),
    [index, shown],
  );
  return html`<div class="fleet-reach card">
    <div role="status">
      ${impact === null && html`<${Hint} index=${index} />`}
      ${
        impact !== null &&
        html`<strong>${headline(impact)}</strong>
        <${Shares} shares=${impact.shares} />`
      }
    </div>
    ${
      host !== null &&
      html`<label class="only">
      <input
        type="checkbox"
        checked=${isOnly}
        onChange=${() => setOnly(!isOnly)}
      />${" "}Show only what maintenance on ${index.map.hosts[host]} affects
    </label>`
    }
  </div>`;
}

/** @param {{index: import("./fleet_index.js").FleetIndex}} props */
function Hint({ index }) {
  const hosts = useMemo(() => hostsSpanningDomains(index), [index]);
  const disabled = index.map.groups.filter((group) => group.is_disabled);
  return html`<p class="soft">
      Point to a host or select it to see what maintenance on it would affect.
    </p>
    ${
      hosts.length > 0 &&
      html`<p class="defeated">
      Maintenance on ${hosts.length > 1 ? "any of these hosts" : "this host"} would take
      down several update domains in a group at the same time: ${few(hosts, 5)}.
    </p>`
    }
    ${
      disabled.length > 0 &&
      html`<p>
      Scheduled Events is disabled for groups that have not polled for 24 hours:
      ${" "}${few(
        disabled.map(({ name }) => name),
        5,
      )}.
    </p>`
    }`;
}

/** @param {{shares: Share[]}} props */
function Shares({ shares }) {
  const rest = shares.length - MOST_SHARES;
  return html`<ul>
    ${shares.slice(0, MOST_SHARES).map(
      (share) => html`<li
        key=${share.group}
        class=${share.spansDomains ? "defeated" : ""}
      >
        <span class="group">${share.group}</span>: ${shareSentence(share)}
      </li>`,
    )}
    ${rest > 0 && html`<li class="soft">and ${count(rest, "more group")}</li>`}
  </ul>`;
}
