// The hosts beside the grid: whichever one points at lights its VMs.

import { count, STANDINGS } from "../components.js";
import { html, useMemo, useState } from "../view.js";
import { useArrows } from "./arrow_keys.js";
import { markOfHost } from "./marks.js";
import { fitsName } from "./search.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./marks.js").Marks} Marks */
/** @typedef {import("./marks.js").Mark} Mark */

/**
 * @typedef {object} HostShown
 * @property {string} name
 * @property {number} vms
 * @property {number} groups
 * @property {Mark | undefined} mark
 * @property {string | undefined} condition "failed" or "degraded"
 */

const STEP = 200; // hosts that are drawn at once

/**
 * @param {FleetIndex} index
 * @param {Marks} marks
 * @param {number} host
 * @returns {HostShown}
 */
export function hostOf(index, marks, host) {
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
 * @param {HostShown & {said?: string}} props `said`: of its VMs, if not how many
 */
export function HostFace({ name, vms, groups, mark, condition, said }) {
  return html`<span class="name" title=${name}>${name}</span>
    <span class="about">
      ${said ?? count(vms, "VM")} · ${count(groups, "group")}
      ${condition && html` <span class="badge failed">${condition}</span>`}
      ${mark && html` <span class="badge ${mark}">${STANDINGS[mark]}</span>`}
    </span>`;
}

/**
 * @param {{
 *   index: FleetIndex,
 *   marks: Marks,
 *   query: string,
 *   found: import("./search.js").Found | null,
 *   chosen: number | null,
 *   choose: (kind: "host", at: number) => void,
 *   point: (host: number | null) => void,
 * }} props
 */
export function Hosts({ index, marks, query, found, chosen, choose, point }) {
  const [most, setMost] = useState(STEP);
  const arrows = useArrows();
  const hosts = useMemo(() => hostsFound(index, query, found), [index, found]);
  return html`<section class="fleet-hosts card" aria-label="Hosts">
    <h2>Hosts</h2>
    <ul ...${arrows} onMouseLeave=${() => point(null)}>
      ${hosts.slice(0, most).map(
        (at) => html`<${OneHost}
          key=${index.map.hosts[at]}
          ...${hostOf(index, marks, at)}
          at=${at}
          isChosen=${at === chosen}
          choose=${choose}
          point=${point}
        />`,
      )}
    </ul>
    ${!hosts.length && html`<p class="soft">No host fits.</p>`}
    ${
      hosts.length > most &&
      html`<button onClick=${() => setMost(most + STEP)}>
      Show more of ${count(hosts.length - most, "host")}
    </button>`
    }
  </section>`;
}

/**
 * @param {FleetIndex} index
 * @param {string} query
 * @param {import("./search.js").Found | null} found
 */
function hostsFound({ map, ofHost }, query, found) {
  const all = map.hosts.map((_, at) => at);
  if (found === null) return all;
  return all.filter(
    (at) =>
      ofHost[at]?.some((vm) => found.vms[vm]) || fitsName(map.hosts[at] ?? "", query),
  );
}

/**
 * @param {HostShown & {
 *   at: number,
 *   isChosen: boolean,
 *   choose: (kind: "host", at: number) => void,
 *   point: (host: number | null) => void,
 * }} props
 */
function OneHost({ at, isChosen, choose, point, ...host }) {
  const depends = [at, isChosen, choose, point, ...Object.values(host)];
  return useMemo(
    () => html`<li>
      <button
        class="plain"
        data-stop=""
        tabindex="-1"
        aria-pressed=${isChosen}
        onClick=${() => choose("host", at)}
        onMouseEnter=${() => point(at)}
        onFocus=${() => point(at)}
        onBlur=${() => point(null)}
      >
        <${HostFace} ...${host} />
      </button>
    </li>`,
    depends,
  );
}
