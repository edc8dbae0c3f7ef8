// Above the fleet: what is looked for, how much was found, how it is arranged.

import { count } from "../parts.js";
import { html } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./search.js").Found} Found */

/**
 * @param {{
 *   index: FleetIndex,
 *   query: string,
 *   setQuery: (query: string) => void,
 *   found: Found | null,
 *   isByHost: boolean,
 *   setByHost: (isByHost: boolean) => void,
 * }} props
 */
export function SearchBar({ index, query, setQuery, found, isByHost, setByHost }) {
  const typed = (/** @type {Event} */ { target }) =>
    target instanceof HTMLInputElement && setQuery(target.value);
  return html`<div class="fleet-bar">
    <div class="fleet-search">
      <label for="fleet-search">Search</label>
      <input
        id="fleet-search"
        type="search"
        autocomplete="off"
        spellcheck=${false}
        placeholder="names, silent, unheard, spot, ud:2, host:…, group:…"
        value=${query}
        onInput=${typed}
      />
    </div>
    <p class="fleet-counted" role="status">${counted(index, found)}</p>
    <fieldset class="fleet-arranged">
      <legend class="hidden">Arranged</legend>
      <${Way} said="By group" isOn=${!isByHost} choose=${() => setByHost(false)} />
      <${Way} said="By host" isOn=${isByHost} choose=${() => setByHost(true)} />
    </fieldset>
  </div>`;
}

/** @param {{said: string, isOn: boolean, choose: () => void}} props */
function Way({ said, isOn, choose }) {
  return html`<label class=${isOn ? "on" : ""}>
    <input type="radio" name="arranged" checked=${isOn} onChange=${choose} />
    ${said}
  </label>`;
}

/**
 * @param {FleetIndex} index
 * @param {Found | null} found
 */
function counted({ map }, found) {
  const all = count(map.vms.name.length, "VM");
  if (found) return `${found.count.toLocaleString("en")} of ${all}`;
  const silent = map.groups.filter((each) => each.is_silent).length;
  const groups = count(map.groups.length, "group");
  const hosts = count(map.hosts.length, "host");
  const told = [all, groups, hosts];
  if (silent) told.push(count(silent, "silent group"));
  return told.join(", ");
}
