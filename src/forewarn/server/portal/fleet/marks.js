// Marks of VMs and hosts with live maintenance, and the legend that explains them.

import { STANDINGS } from "../components.js";
import { html } from "../view.js";

/** @typedef {import("../types").Item} Item */

/** @typedef {"stuck" | "started" | "blocked" | "scheduled"} Mark */

/** The letter on a square, in addition to its color; most urgent first. */
export const LETTERS = /** @type {const} */ ({
  stuck: "!",
  started: "▸",
  blocked: "B",
  scheduled: "S",
});

/** @type {Record<string, string>} host conditions by the cause of a maintenance */
const CONDITIONS = { "host-failure": "failed", degraded: "degraded" };

const URGENCY = Object.keys(LETTERS);

/**
 * @typedef {object} Marks
 * @property {Map<string, Mark>} ofVm the most urgent mark of each VM, by name
 * @property {Map<string, Mark>} ofHost the most urgent mark of each host, by name
 * @property {Map<string, string>} conditions "failed" or "degraded", by host
 */

/**
 * Return the marks of all live items.
 * @param {Item[]} live
 * @param {(item: Item) => string} standingOf
 * @returns {Marks}
 */
export function marksOf(live, standingOf) {
  /** @type {Marks} */
  const marks = { ofVm: new Map(), ofHost: new Map(), conditions: new Map() };
  for (const item of live) {
    const mark = /** @type {Mark} */ (standingOf(item));
    const { host, cause, events } = item.maintenance;
    for (const { status, resources } of events) {
      if (status !== null) for (const vm of resources) addMark(marks.ofVm, vm, mark);
    }
    if (host === null) continue;
    addMark(marks.ofHost, host, mark);
    const condition = CONDITIONS[cause];
    if (condition && marks.conditions.get(host) !== "failed") {
      marks.conditions.set(host, condition);
    }
  }
  return marks;
}

/**
 * @param {Map<string, Mark>} marks
 * @param {string} name
 * @param {Mark} mark
 */
function addMark(marks, name, mark) {
  marks.set(name, moreUrgent(marks.get(name), mark) ?? mark);
}

/**
 * Return the more urgent of two marks.
 * @param {Mark | undefined} a
 * @param {Mark | undefined} b
 */
function moreUrgent(a, b) {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return URGENCY.indexOf(a) <= URGENCY.indexOf(b) ? a : b;
}

/**
 * Return the most urgent mark of a host and its VMs.
 * @param {import("./fleet_index.js").FleetIndex} index
 * @param {Marks} marks
 * @param {number} host
 */
export function markOfHost(index, marks, host) {
  const { map, ofHost } = index;
  let mark = marks.ofHost.get(map.hosts[host] ?? "");
  if (!marks.ofVm.size) return mark;
  for (const vm of ofHost[host] ?? []) {
    mark = moreUrgent(mark, marks.ofVm.get(map.vms.name[vm] ?? ""));
  }
  return mark;
}

/**
 * Return a key that changes if and only if a mark in the row changes.
 * @param {import("./rows.js").Row} row
 * @param {string[]} names of the VMs
 * @param {Marks} marks
 */
export function marksKey({ vms }, names, { ofVm }) {
  if (!ofVm.size) return "";
  let key = "";
  for (const vm of vms) {
    const mark = ofVm.get(names[vm] ?? "");
    key += mark === undefined ? "." : LETTERS[mark];
  }
  return key;
}

const LEGEND = [
  { mark: "", label: "VM" },
  { mark: "spot", label: "spot VM" },
  { mark: "disabled", label: "Scheduled Events disabled for its group" },
  { mark: "not-polling", label: "not polling: this VM has not polled for 24 hours" },
];

/** @param {{isByHost: boolean}} props */
export function Legend({ isByHost }) {
  const standings = /** @type {(keyof typeof LETTERS)[]} */ (Object.keys(LETTERS));
  return html`<ul class="fleet-legend" aria-label="Legend">
    ${LEGEND.map(
      ({ mark, label }) => html`<li key=${label}>
        <span class="vm ${mark}" aria-hidden="true"></span> ${label}
      </li>`,
    )}
    ${standings.map(
      (name) => html`<li key=${name}>
        <span class="vm ${name}" data-mark=${LETTERS[name]} aria-hidden="true"></span>
        ${STANDINGS[name].toLowerCase()}
      </li>`,
    )}
    ${
      isByHost &&
      html`<li>
      <span class="vm ud-0" aria-hidden="true">0</span>
      <span class="vm ud-1" aria-hidden="true">1</span>
      the number is the update domain
    </li>`
    }
    ${!isByHost && html`<li><b>UD</b> update domain</li>`}
  </ul>`;
}
