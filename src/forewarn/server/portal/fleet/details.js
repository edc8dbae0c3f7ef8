// Details panel of the selected VM, group or host, with its actions.

import { GroupActions, HostActions, VmActions } from "../actions/buttons.js";
import { count, Standing, Time, titleOf } from "../components.js";
import { openStory } from "../route.js";
import { html, useEffect, useModel, useRef } from "../view.js";
import { impactOf, shareSentence } from "./impact.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("../types").Item} Item */

/** @typedef {{kind: "vm" | "group" | "host", name: string}} Chosen */
/** @typedef {(kind: "vm" | "group" | "host", at: number) => void} Choose */

const MOST_ENTRIES = 50; // of a list

const TITLES = { vm: "VM", group: "Group", host: "Host" };
const NOUNS = { vm: "VM", group: "group", host: "host" };
const BODIES = { vm: VmBody, group: GroupBody, host: HostBody };

/**
 * @param {{index: FleetIndex, chosen: Chosen, choose: Choose, close: () => void}} props
 */
export function Details({ index, chosen, choose, close }) {
  const { kind, name } = chosen;
  const at = positionOf(index, chosen);
  const Body = BODIES[kind];
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    const isLost = document.activeElement === document.body;
    if (isLost) section.current?.focus(); // the focused link was replaced
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
        ? html`<p class="soft">This ${NOUNS[kind]} is no longer in the fleet.</p>`
        : html`<${Body} index=${index} at=${at} choose=${choose} />`
    }
  </section>`;
}

/**
 * Return the current index of the selected object in the fleet map; undefined if it is
 * gone.
 * @param {FleetIndex} index
 * @param {Chosen} chosen
 */
export function positionOf(index, { kind, name }) {
  const { vmByName, groupByName, hostByName } = index;
  return { vm: vmByName, group: groupByName, host: hostByName }[kind].get(name);
}

/** @param {{index: FleetIndex, at: number, choose: Choose}} props */
function VmBody({ index, at, choose }) {
  const { vms, groups, hosts } = index.map;
  const name = vms.name[at] ?? "";
  const group = vms.group[at] ?? -1;
  const host = vms.host[at] ?? null;
  return html`<${VmActions}
      name=${name}
      isSpot=${vms.spot[at] ?? false}
      isDeallocated=${vms.deallocated[at] ?? false}
    />
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
      <dd>${vms.spot[at] ? "yes (can be evicted)" : "no"}</dd>
      ${
        vms.deallocated[at] &&
        html`<dt>State</dt>
          <dd>deallocated (can only be marked as running or deleted)</dd>`
      }
      <dt>Last request</dt>
      <dd>
        <${LastRequest} at=${vms.last_request[at]} never="none since the service started" />
        ${
          index.silence[at] === "disabled" &&
          html` <span class="badge warn">group disabled</span>`
        }
      </dd>
    </dl>
    <${Events} matches=${(/** @type {Item} */ item) => isForVm(item, name)} />`;
}

/** @param {{index: FleetIndex, at: number}} props */
function GroupBody({ index, at }) {
  const group = index.map.groups[at];
  if (!group) return null;
  const { name, kind, enabled, is_disabled: isDisabled } = group;
  const vms = index.ofGroup[at] ?? [];
  const hosts = new Set(vms.map((vm) => index.map.vms.host[vm] ?? null));
  hosts.delete(null);
  return html`<${GroupActions} name=${name} />
    <dl>
      <dt>Kind</dt>
      <dd>${kind}</dd>
      <dt>VMs</dt>
      <dd>${count(vms.length, "VM")} on ${count(hosts.size, "host")}</dd>
      <dt>Scheduled Events</dt>
      <dd>
        ${isDisabled ? html`<span class="badge warn">disabled</span>` : "enabled"}
        ${" "}(${enabled})
        ${isDisabled && html`<p class="soft">None of its VMs has polled for 24 hours.</p>`}
      </dd>
      <dt>Last request</dt>
      <dd><${LastRequest} at=${group.last_request} never="none" /></dd>
    </dl>
    <${Events} matches=${(/** @type {Item} */ item) => isForGroup(item, name)} />`;
}

/** @param {{index: FleetIndex, at: number, choose: Choose}} props */
function HostBody({ index, at, choose }) {
  const { host, vms, shares } = impactOf(index, at);
  const names = new Set((index.ofHost[at] ?? []).map((vm) => index.map.vms.name[vm]));
  const isForHost = (/** @type {Item} */ item) =>
    item.maintenance.host === host ||
    item.maintenance.vms.some((vm) => names.has(vm));
  return html`<${HostActions} name=${host} />
    <h3>${count(vms, "VM")} in ${count(shares.length, "group")}</h3>
    <ul class="fleet-shares">
      ${shares.slice(0, MOST_ENTRIES).map((share) => {
        const group = index.groupByName.get(share.group) ?? -1;
        const kind = share.spansDomains ? "defeated" : "";
        return html`<li key=${share.group} class=${kind}>
          <${Link} name=${share.group} go=${() => choose("group", group)} />
          : ${shareSentence(share)}
        </li>`;
      })}
    </ul>
    <${More} all=${shares.length} noun="group" />
    <${Events} matches=${isForHost} />`;
}

/**
 * @param {Item} item
 * @param {string} name
 */
function isForVm({ maintenance }, name) {
  return maintenance.events.some(
    ({ status, resources }) => status !== null && resources.includes(name),
  );
}

/**
 * @param {Item} item
 * @param {string} name
 */
function isForGroup({ maintenance }, name) {
  return maintenance.events.some(({ status, group }) => status && group === name);
}

/** @param {{matches: (item: Item) => boolean}} props */
function Events({ matches }) {
  const items = useModel().live().filter(matches);
  return html`<h3>Current maintenance</h3>
    ${!items.length && html`<p class="soft">None.</p>`}
    <ul class="fleet-events">
      ${items.slice(0, MOST_ENTRIES).map(
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
    <${More} all=${items.length} noun="maintenance operation" />`;
}

/** @param {{all: number, noun: string}} props */
function More({ all, noun }) {
  if (all <= MOST_ENTRIES) return null;
  return html`<p class="soft">and ${count(all - MOST_ENTRIES, `more ${noun}`)}</p>`;
}

/** @param {{name: string | undefined, go: () => void}} props */
function Link({ name, go }) {
  return html`<button class="plain fleet-link" onClick=${go}>${name}</button>`;
}

/** @param {{at: string | null | undefined, never: string}} props */
function LastRequest({ at, never }) {
  if (!at) return html`<span>${never}</span>`;
  return html`<${Time} at=${at} relative=${true} />`;
}
