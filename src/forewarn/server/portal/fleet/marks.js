// Which VMs and hosts have something coming, and how it stands.
// What the marks of the fleet's grid mean.

import { STANDINGS } from "../components.js";
import { html } from "../view.js";

/** @typedef {import("../types").Item} Item */

/** @typedef {"stuck" | "started" | "gate" | "scheduled"} Mark */

/** The letter in a square, beside its color; the order is that of urgency. */
export const LETTERS = /** @type {const} */ ({
  stuck: "!",
  started: "▸",
  gate: "G",
  scheduled: "S",
});

/** @type {Record<string, string>} what the cause of a maintenance says of its host */
const CONDITIONS = { "host-failure": "failed", degraded: "degraded" };

const URGENCY = Object.keys(LETTERS);

/**
 * @typedef {object} Marks
 * @property {Map<string, Mark>} ofVm by name, the most urgent
 * @property {Map<string, Mark>} ofHost what was announced for the host itself
 * @property {Map<string, string>} conditions "failed" or "degraded", by host
 */

/**
 * Find what is coming to whom.
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
      if (status !== null) for (const vm of resources) put(marks.ofVm, vm, mark);
    }
    if (host === null) continue;
    put(marks.ofHost, host, mark);
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
function put(marks, name, mark) {
  marks.set(name, moreUrgent(marks.get(name), mark) ?? mark);
}

/**
 * Choose the more urgent of two marks.
 * @param {Mark | undefined} one
 * @param {Mark | undefined} other
 */
export function moreUrgent(one, other) {
  if (one === undefined) return other;
  if (other === undefined) return one;
  return URGENCY.indexOf(one) <= URGENCY.indexOf(other) ? one : other;
}

/**
 * Find the most urgent mark of a host: of its own, or of a VM there.
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
 * Write down all that is marked in a row: other text, other look.
 * @param {import("./rows.js").Row} row
 * @param {string[]} names of the VMs
 * @param {Marks} marks
 */
export function signOf({ vms }, names, { ofVm }) {
  if (!ofVm.size) return "";
  let sign = "";
  for (const vm of vms) {
    const mark = ofVm.get(names[vm] ?? "");
    sign += mark === undefined ? "." : LETTERS[mark];
  }
  return sign;
}

const MARKS = [
  { mark: "", said: "VM" },
  { mark: "spot", said: "spot VM" },
  { mark: "silent", said: "silent: the group has not asked in 24 h" },
  { mark: "unheard", said: "unheard: this VM has not asked itself" },
];

/** @param {{isByHost: boolean}} props */
export function Legend({ isByHost }) {
  const standings = /** @type {(keyof typeof LETTERS)[]} */ (Object.keys(LETTERS));
  return html`<ul class="fleet-legend" aria-label="Legend">
    ${MARKS.map(
      ({ mark, said }) => html`<li key=${said}>
        <span class="vm ${mark}" aria-hidden="true"></span> ${said}
      </li>`,
    )}
    ${standings.map(
      (each) => html`<li key=${each}>
        <span class="vm ${each}" data-mark=${LETTERS[each]} aria-hidden="true"></span>
        ${STANDINGS[each].toLowerCase()}
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
