// What is looked for in the fleet: words, each of which must fit.
// Above the fleet: what is looked for, how much was found, how it is arranged.

import { count } from "../components.js";
import { html } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */

/** @typedef {(index: FleetIndex, vm: number) => boolean} Fits */

/** @type {Record<string, Fits>} words that are not only looked for in names */
const KINDS = {
  silent: ({ silence }, vm) => silence[vm] === "silent",
  unheard: ({ silence }, vm) => silence[vm] === "unheard",
  spot: ({ map }, vm) => map.vms.spot[vm] ?? false,
};

/** @type {Record<string, (index: FleetIndex, vm: number, value: string) => boolean>} */
const FIELDS = {
  ud: ({ map }, vm, value) => String(map.vms.update_domain[vm] ?? "none") === value,
  host: ({ texts }, vm, value) => line(texts[vm], 2).includes(value),
  group: ({ texts }, vm, value) => line(texts[vm], 1).includes(value),
  vm: ({ texts }, vm, value) => line(texts[vm], 0).includes(value),
};

/**
 * @param {string | undefined} text
 * @param {number} number
 */
function line(text, number) {
  return text?.split("\n")[number] ?? "";
}

/**
 * @typedef {object} Found
 * @property {boolean[]} vms whether each VM fits
 * @property {number} count how many do
 */

/**
 * Find the VMs that fit every word.
 * @param {FleetIndex} index
 * @param {string} query
 * @returns {Found | null} null: nothing is looked for
 */
export function search(index, query) {
  const terms = wordsIn(query).map(fits);
  if (!terms.length) return null;
  let count = 0;
  const vms = index.texts.map((_, vm) => {
    const isFound = terms.every((each) => each(index, vm));
    if (isFound) count += 1;
    return isFound;
  });
  return { vms, count };
}

/**
 * Whether a name fits as well, as of a group or host without VMs.
 * @param {string} name
 * @param {string} query
 */
export function fitsName(name, query) {
  const lower = name.toLowerCase();
  return wordsIn(query).every((word) => lower.includes(word));
}

/** @param {string} query */
function wordsIn(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * @param {string} word
 * @returns {Fits}
 */
function fits(word) {
  const [, name = "", value = ""] = /^(\w+):(.*)$/.exec(word) ?? [];
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  if (field && !value) return () => true; // it is still being typed
  if (field) return (index, vm) => field(index, vm, value);
  const kind = Object.hasOwn(KINDS, word) ? KINDS[word] : undefined;
  return (index, vm) =>
    (kind?.(index, vm) ?? false) || (index.texts[vm]?.includes(word) ?? false);
}

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
