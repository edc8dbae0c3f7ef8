// What is known of the chosen VM, group or host, and what can be done to it.

import { GroupActs, HostActs, VmActs } from "../actions/buttons.js";
import { count, Standing, Time, titleOf } from "../components.js";
import { openStory } from "../route.js";
import { html, useEffect, useModel, useRef } from "../view.js";
import { reachOf, sentenceOf } from "./impact.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("../types").Item} Item */

/** @typedef {{kind: "vm" | "group" | "host", name: string}} Chosen */
/** @typedef {(kind: "vm" | "group" | "host", at: number) => void} Choose */

const MOST = 50; // entries of a list

const TITLES = { vm: "VM", group: "Group", host: "Host" };
const KNOWN = { vm: VmKnown, group: GroupKnown, host: HostKnown };

/**
 * @param {{index: FleetIndex, chosen: Chosen, choose: Choose, close: () => void}} props
 */
export function Details({ index, chosen, choose, close }) {
  const { kind, name } = chosen;
  const at = placeOf(index, chosen);
  const Known = KNOWN[kind];
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const isLost = document.activeElement === document.body;
    if (isLost) section.current?.focus(); // it was on a name that has gone
  }, [kind, name]);
  const label = `${TITLES[kind]} ${name}`;
  return html`<section
    class="fleet-details card"
    aria-label=${label}
    tabindex="-1"
    ref=${section}
  >
    <div class="fleet-title">
      <h2><small>${TITLES[kind]}</small> ${name}</h2>
      <button class="quiet" aria-label="Close" onClick=${close}>×</button>
    </div>
    ${
      at === undefined
        ? html`<p class="soft">It is no longer in the fleet.</p>`
        : html`<${Known} index=${index} at=${at} choose=${choose} />`
    }
  </section>`;
}

/**
 * Find where in the map the chosen one is now.
 * @param {FleetIndex} index
 * @param {Chosen} chosen
 */
export function placeOf(index, { kind, name }) {
  const { vmNamed, groupNamed, hostNamed } = index;
  return { vm: vmNamed, group: groupNamed, host: hostNamed }[kind].get(name);
}

/** @param {{index: FleetIndex, at: number, choose: Choose}} props */
function VmKnown({ index, at, choose }) {
  const { vms, groups, hosts } = index.map;
  const name = vms.name[at] ?? "";
  const group = vms.group[at] ?? -1;
  const host = vms.host[at] ?? null;
  return html`<${VmActs} name=${name} isSpot=${vms.spot[at] ?? false} />
    <dl>
      <dt>Group</dt>
      <dd>
        <${Link} name=${groups[group]?.name} go=${() => choose("group", group)} />
      </dd>
      <dt>Host</dt>
      <dd>
        ${
          host === null
            ? "none"
            : html`<${Link} name=${hosts[host]} go=${() => choose("host", host)} />`
        }
      </dd>
      <dt>Update domain</dt>
      <dd>${vms.update_domain[at] ?? "none"}</dd>
      <dt>Spot</dt>
      <dd>${vms.spot[at] ? "yes: it can be evicted" : "no"}</dd>
      <dt>Last request</dt>
      <dd>
        <${Asked} at=${vms.asked[at]} never="none since the service began" />
        ${
          index.silence[at] === "silent" &&
          html` <span class="badge warn">silent group</span>`
        }
      </dd>
    </dl>
    <${Events} isOf=${(/** @type {Item} */ item) => isForVm(item, name)} />`;
}

/** @param {{index: FleetIndex, at: number}} props */
function GroupKnown({ index, at }) {
  const group = index.map.groups[at];
  if (!group) return null;
  const { name, kind, listening, is_silent: isSilent } = group;
  const vms = index.ofGroup[at] ?? [];
  const hosts = new Set(vms.map((vm) => index.map.vms.host[vm] ?? null));
  hosts.delete(null);
  return html`<${GroupActs} name=${name} />
    <dl>
      <dt>Kind</dt>
      <dd>${kind}</dd>
      <dt>VMs</dt>
      <dd>${count(vms.length, "VM")} on ${count(hosts.size, "host")}</dd>
      <dt>Listening</dt>
      <dd>
        ${listening}
        ${
          isSilent &&
          html` <span class="badge warn">silent</span>
          <p class="soft">It has not asked for events in 24 h.</p>`
        }
      </dd>
      <dt>Last request</dt>
      <dd><${Asked} at=${group.last_request} never="none" /></dd>
    </dl>
    <${Events} isOf=${(/** @type {Item} */ item) => isForGroup(item, name)} />`;
}

/** @param {{index: FleetIndex, at: number, choose: Choose}} props */
function HostKnown({ index, at, choose }) {
  const { host, vms, shares } = reachOf(index, at);
  const names = new Set((index.ofHost[at] ?? []).map((vm) => index.map.vms.name[vm]));
  const isOf = (/** @type {Item} */ item) =>
    item.maintenance.host === host ||
    item.maintenance.vms.some((each) => names.has(each));
  return html`<${HostActs} name=${host} />
    <h3>${count(vms, "VM")} of ${count(shares.length, "group")}</h3>
    <ul class="fleet-shares">
      ${shares.slice(0, MOST).map((share) => {
        const group = index.groupNamed.get(share.group) ?? -1;
        return html`<li key=${share.group} class=${share.isDefeated ? "defeated" : ""}>
          <${Link} name=${share.group} go=${() => choose("group", group)} />
          : ${sentenceOf(share)}
        </li>`;
      })}
    </ul>
    <${More} all=${shares.length} noun="group" />
    <${Events} isOf=${isOf} />`;
}

/**
 * @param {Item} item
 * @param {string} name
 */
function isForVm({ maintenance }, name) {
  const isFor = (/** @type {import("../types").ScheduledEvent} */ each) =>
    each.status !== null && each.resources.includes(name);
  return maintenance.events.some(isFor);
}

/**
 * @param {Item} item
 * @param {string} name
 */
function isForGroup({ maintenance }, name) {
  return maintenance.events.some((each) => each.status && each.group === name);
}

/** @param {{isOf: (item: Item) => boolean}} props */
function Events({ isOf }) {
  const items = useModel().live().filter(isOf);
  return html`<h3>Live maintenances</h3>
    ${!items.length && html`<p class="soft">None.</p>`}
    <ul class="fleet-events">
      ${items.slice(0, MOST).map(
        (item) => html`<li key=${item.maintenance.id}>
          <${Standing} item=${item} />${" "}
          <${Link}
            name=${titleOf(item.maintenance)}
            go=${() => openStory(item.maintenance.id)}
          />
          <small>not before <${Time} at=${item.maintenance.not_before} /></small>
        </li>`,
      )}
    </ul>
    <${More} all=${items.length} noun="maintenance" />`;
}

/** @param {{all: number, noun: string}} props */
function More({ all, noun }) {
  if (all <= MOST) return null;
  return html`<p class="soft">and ${count(all - MOST, noun)} more</p>`;
}

/** @param {{name: string | undefined, go: () => void}} props */
function Link({ name, go }) {
  return html`<button class="plain fleet-link" onClick=${go}>${name}</button>`;
}

/** @param {{at: string | null | undefined, never: string}} props */
function Asked({ at, never }) {
  if (!at) return html`<span>${never}</span>`;
  return html`<${Time} at=${at} relative=${true} />`;
}
