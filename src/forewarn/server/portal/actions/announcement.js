// Announcement form data: validation, request body, and summary of a preview.

import { count, few } from "../components.js";
import { ms } from "../times.js";
import { bodyOf } from "./catalog.js";

/** @typedef {import("../types").Maintenance} Maintenance */

export const TYPES = ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"];
export const HOST_TYPES = ["Freeze", "Reboot", "Redeploy"];

/**
 * @typedef {object} Form
 * @property {"vms" | "host" | "group"} target
 * @property {string[]} vms the chosen VMs
 * @property {string} typed VM names that are not in `vms` yet
 * @property {string} host
 * @property {string} group
 * @property {string} type
 * @property {"minimum" | "notice" | "not_before"} timing
 * @property {string} notice
 * @property {string} not_before in the viewer's time zone
 * @property {string} duration
 * @property {string} description
 * @property {string} source empty for the default
 * @property {string} reason
 * @property {boolean} isEmergency
 * @property {boolean} ignoresBlockers
 */

/** @type {Form} */
export const EMPTY = {
  target: "vms",
  vms: [],
  typed: "",
  host: "",
  group: "",
  type: "Reboot",
  timing: "minimum",
  notice: "",
  not_before: "",
  duration: "",
  description: "",
  source: "",
  reason: "",
  isEmergency: false,
  ignoresBlockers: false,
};

/** @type {Record<string, string>} */
const MISSING = {
  vms: "Enter at least one VM.",
  host: "Enter a host.",
  group: "Enter a group.",
  notice: "Enter a notice period, such as 20m.",
  not_before: "Enter a date and time.",
};

/**
 * Convert a form to a request body, or to errors.
 * @param {Form} form
 * @returns {import("./catalog.js").FormResult}
 */
export function announcementOf(form) {
  const { duration, description, source, reason } = form;
  const time = form.timing === "minimum" ? {} : { [form.timing]: form[form.timing] };
  const result = bodyOf({ duration, description, source, reason, ...time });
  for (const [field, value] of Object.entries(time)) {
    if (!value.trim()) result.errors[field] = MISSING[form.timing];
  }
  const names = targetOf(form);
  if (!names.length) result.errors.target = MISSING[form.target];
  const target = form.target === "vms" ? names : names[0];
  result.body = { type: form.type, [form.target]: target, ...result.body };
  if (form.isEmergency) result.body.emergency = true;
  if (form.isEmergency && form.ignoresBlockers) result.body.ignore_blockers = true;
  return result;
}

/** @param {Form} form */
function targetOf({ target, vms, typed, host, group }) {
  if (target === "vms") return addNames(vms, typed);
  const name = (target === "host" ? host : group).trim();
  return name ? [name] : [];
}

/**
 * Add typed names to a list, without duplicates.
 * @param {string[]} names
 * @param {string} typed separated by spaces or commas
 */
export function addNames(names, typed) {
  const more = typed.split(/[\s,;]+/).filter(Boolean);
  return [...new Set([...names, ...more])];
}

/**
 * Return the names that contain the typed text; those that start with it come first.
 * @param {string[]} names
 * @param {string} typed
 * @param {number} most
 */
export function suggest(names, typed, most = 30) {
  const part = typed.trim().toLowerCase();
  /** @type {string[]} */
  const starting = [];
  /** @type {string[]} */
  const others = [];
  for (const name of names) {
    const at = name.toLowerCase().indexOf(part);
    if (at === 0) starting.push(name);
    else if (at > 0) others.push(name);
    if (starting.length >= most) break;
  }
  return [...starting, ...others].slice(0, most);
}

/**
 * Summarize a preview: its number of operations, events, groups and VMs.
 * @param {Maintenance[]} maintenances
 */
export function summaryOf(maintenances) {
  const events = maintenances.flatMap((maintenance) => maintenance.events);
  const groups = [...new Set(events.map(({ group }) => group))];
  const vms = new Set(events.flatMap(({ resources }) => resources));
  const parts = [
    count(maintenances.length, "maintenance operation"),
    count(events.length, "event"),
    `${count(groups.length, "group")} (${few(groups)})`,
    count(vms.size, "VM"),
  ];
  return parts.join(", ");
}

/**
 * Return the earliest NotBefore of a preview.
 * @param {Maintenance[]} maintenances
 * @returns {string | null} null if nothing would be announced
 */
export function earliestOf(maintenances) {
  const [first = null, ...others] = maintenances.map(({ not_before }) => not_before);
  if (first === null) return null;
  return others.reduce((a, b) => (ms(b) < ms(a) ? b : a), first);
}
