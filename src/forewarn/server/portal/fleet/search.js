// Fleet search: a query whose words must all match, and the search bar.

import { count } from "../components.js";
import { html } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */

/** @typedef {(index: FleetIndex, vm: number) => boolean} Term */

/** @type {Record<string, Term>} words that match a property or a name */
const KINDS = {
  disabled: ({ silence }, vm) => silence[vm] === "disabled",
  "not-polling": ({ silence }, vm) => silence[vm] === "not-polling",
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
 * @typedef {object} SearchResult
 * @property {boolean[]} vms whether each VM matches
 * @property {number} count number of matching VMs
 */

/**
 * Find the VMs that match every word.
 * @param {FleetIndex} index
 * @param {string} query
 * @returns {SearchResult | null} null if the query is empty
 */
export function search(index, query) {
  const terms = wordsIn(query).map(termOf);
  if (!terms.length) return null;
  let count = 0;
  const vms = index.texts.map((_, vm) => {
    const isMatch = terms.every((matches) => matches(index, vm));
    if (isMatch) count += 1;
    return isMatch;
  });
  return { vms, count };
}

/**
 * Whether a name matches; for groups and hosts without VMs.
 * @param {string} name
 * @param {string} query
 */
export function matchesName(name, query) {
  const lower = name.toLowerCase();
  return wordsIn(query).every((word) => lower.includes(word));
}

/** @param {string} query */
function wordsIn(query) {
  return query.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * @param {string} word
 * @returns {Term}
 */
function termOf(word) {
  const [, name = "", value = ""] = /^(\w+):(.*)$/.exec(word) ?? [];
  const field = Object.hasOwn(FIELDS, name) ? FIELDS[name] : undefined;
  if (field && !value) return () => true; // the user is still typing
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
 *   matches: SearchResult | null,
 *   isByHost: boolean,
 *   setByHost: (isByHost: boolean) => void,
 * }} props
 */
export function SearchBar({ index, query, setQuery, matches, isByHost, setByHost }) {
  const onInput = (/** @type {Event} */ { target }) =>
    target instanceof HTMLInputElement && setQuery(target.value);
  return html`<div class="fleet-bar">
    <div class="fleet-search">
      <label for="fleet-search">Search</label>
      <input
        id="fleet-search"
        type="search"
        autocomplete="off"
        spellcheck=${false}
        placeholder="name, disabled, not-polling, spot, ud:2, host:…"
        value=${query}
        onInput=${onInput}
      />
    </div>
    <p class="fleet-counted" role="status">${summaryOf(index, matches)}</p>
    <fieldset class="fleet-arranged">
      <legend class="hidden">Rows</legend>
      <${Option} label="By group" isOn=${!isByHost} choose=${() => setByHost(false)} />
      <${Option} label="By host" isOn=${isByHost} choose=${() => setByHost(true)} />
    </fieldset>
  </div>`;
}

/** @param {{label: string, isOn: boolean, choose: () => void}} props */
function Option({ label, isOn, choose }) {
  return html`<label class=${isOn ? "on" : ""}>
    <input type="radio" name="arranged" checked=${isOn} onChange=${choose} />
    ${label}
  </label>`;
}

/**
 * @param {FleetIndex} index
 * @param {SearchResult | null} matches
 */
function summaryOf({ map }, matches) {
  const all = count(map.vms.name.length, "VM");
  if (matches) return `${matches.count.toLocaleString("en")} of ${all}`;
  const disabled = map.groups.filter((group) => group.is_disabled).length;
  const groups = count(map.groups.length, "group");
  const hosts = count(map.hosts.length, "host");
  const parts = [all, groups, hosts];
  if (disabled) parts.push(count(disabled, "disabled group"));
  return parts.join(", ");
}
