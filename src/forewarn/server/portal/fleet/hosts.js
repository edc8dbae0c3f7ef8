// Host list next to the grid; hovering over a host highlights its VMs.

import { count, STANDINGS } from "../components.js";
import { html, useMemo, useState } from "../view.js";
import { useArrowKeys } from "./arrow_keys.js";
import { markOfHost } from "./marks.js";
import { matchesName } from "./search.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./marks.js").Marks} Marks */
/** @typedef {import("./marks.js").Mark} Mark */

/**
 * @typedef {object} HostSummary
 * @property {string} name
 * @property {number} vms
 * @property {number} groups
 * @property {Mark | undefined} mark
 * @property {string | undefined} condition "failed" or "degraded"; undefined if healthy
 */

const PAGE_SIZE = 200; // hosts drawn at once

/**
 * @param {FleetIndex} index
 * @param {Marks} marks
 * @param {number} host
 * @returns {HostSummary}
 */
export function summarizeHost(index, marks, host) {
  const name = index.map.hosts[host] ?? "";
  return {
    name,
    vms: index.ofHost[host]?.length ?? 0,
    groups: index.groupsOfHost[host] ?? 0,
    mark: markOfHost(index, marks, host),
    condition: marks.conditions.get(name),
  };
}

/**
 * @param {HostSummary & {vmCount?: string}} props `vmCount`: text shown instead of
 *   its number of VMs
 */
export function HostLabel({ name, vms, groups, mark, condition, vmCount }) {
  return html`<span class="name" title=${name}>${name}</span>
    <span class="about">
      ${vmCount ?? count(vms, "VM")} · ${count(groups, "group")}
      ${condition && html` <span class="badge failed">${condition}</span>`}
      ${mark && html` <span class="badge ${mark}">${STANDINGS[mark]}</span>`}
    </span>`;
}

/**
 * @param {{
 *   index: FleetIndex,
 *   marks: Marks,
 *   query: string,
 *   matches: import("./search.js").SearchResult | null,
 *   chosen: number | null,
 *   choose: (kind: "host", at: number) => void,
 *   hover: (host: number | null) => void,
 * }} props
 */
export function Hosts({ index, marks, query, matches, chosen, choose, hover }) {
  const [most, setMost] = useState(PAGE_SIZE);
  const arrows = useArrowKeys();
  const hosts = useMemo(() => matchingHosts(index, query, matches), [index, matches]);
  return html`<section class="fleet-hosts card" aria-label="Hosts">
    <h2>Hosts</h2>
    <ul ...${arrows} onMouseLeave=${() => hover(null)}>
      ${hosts.slice(0, most).map(
        (at) => html`<${HostRow}
          key=${index.map.hosts[at]}
          ...${summarizeHost(index, marks, at)}
          at=${at}
          isChosen=${at === chosen}
          choose=${choose}
          hover=${hover}
        />`,
      )}
    </ul>
    ${!hosts.length && html`<p class="soft">No matching hosts.</p>`}
    ${
      hosts.length > most &&
      html`<button onClick=${() => setMost(most + PAGE_SIZE)}>
      Show more (${count(hosts.length - most, "host")} hidden)
    </button>`
    }
  </section>`;
}

/**
 * @param {FleetIndex} index
 * @param {string} query
 * @param {import("./search.js").SearchResult | null} matches
 */
function matchingHosts({ map, ofHost }, query, matches) {
  const all = map.hosts.map((_, at) => at);
  if (matches === null) return all;
  return all.filter(
    (at) =>
      ofHost[at]?.some((vm) => matches.vms[vm]) ||
      matchesName(map.hosts[at] ?? "", query),
  );
}

/**
 * @param {HostSummary & {
 *   at: number,
 *   isChosen: boolean,
 *   choose: (kind: "host", at: number) => void,
 *   hover: (host: number | null) => void,
 * }} props
 */
function HostRow({ at, isChosen, choose, hover, ...host }) {
  const depends = [at, isChosen, choose, hover, ...Object.values(host)];
  return useMemo(
    () => html`<li>
      <button
        class="plain"
        data-stop=""
        tabindex="-1"
        aria-pressed=${isChosen}
        onClick=${() => choose("host", at)}
        onMouseEnter=${() => hover(at)}
        onFocus=${() => hover(at)}
        onBlur=${() => hover(null)}
      >
        <${HostLabel} ...${host} />
      </button>
    </li>`,
    depends,
  );
}
