// An announcement as one fills it in, what is sent of it, and what a preview comes to.

import { count, few } from "../components.js";
import { ms } from "../times.js";
import { bodyOf } from "./catalog.js";

/** @typedef {import("../types").Maintenance} Maintenance */

export const TYPES = ["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"];
export const TYPES_OF_HOSTS = ["Freeze", "Reboot", "Redeploy"];

/**
 * @typedef {object} Form
 * @property {"vms" | "host" | "group"} target
 * @property {string[]} vms those chosen
 * @property {string} typed names of VMs that are not among them yet
 * @property {string} host
 * @property {string} group
 * @property {string} type
 * @property {"minimum" | "notice" | "not_before"} timing
 * @property {string} notice
 * @property {string} not_before in the viewer's zone
 * @property {string} duration
 * @property {string} description
 * @property {string} source empty: as usual for the type
 * @property {string} reason
 * @property {boolean} isEmergency
 * @property {boolean} ignoresGates
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
  ignoresGates: false,
};

/** @type {Record<string, string>} */
const MISSING = {
  vms: "Name at least one VM.",
  host: "Name the host.",
  group: "Name the group.",
  notice: "Give the notice, such as 20m.",
  not_before: "Give a day and a time.",
};

/**
 * Turn a form into what is sent, or say what is wrong with it.
 * @param {Form} form
 * @returns {import("./catalog.js").Written}
 */
export function announcementOf(form) {
  const { duration, description, source, reason } = form;
  const time = form.timing === "minimum" ? {} : { [form.timing]: form[form.timing] };
  const written = bodyOf({ duration, description, source, reason, ...time });
  for (const [field, value] of Object.entries(time)) {
    if (!value.trim()) written.wrong[field] = MISSING[form.timing];
  }
  const target = targetOf(form);
  if (!target.length) written.wrong.target = MISSING[form.target];
  const named = form.target === "vms" ? target : target[0];
  written.body = { type: form.type, [form.target]: named, ...written.body };
  if (form.isEmergency) written.body.emergency = true;
  if (form.isEmergency && form.ignoresGates) written.body.ignore_gates = true;
  return written;
}

/** @param {Form} form */
function targetOf({ target, vms, typed, host, group }) {
  if (target === "vms") return joined(vms, typed);
  const name = (target === "host" ? host : group).trim();
  return name ? [name] : [];
}

/**
 * Take names that were typed in, each once.
 * @param {string[]} names
 * @param {string} typed separated by spaces or commas
 */
export function joined(names, typed) {
  const more = typed.split(/[\s,;]+/).filter(Boolean);
  return [...new Set([...names, ...more])];
}

/**
 * Find names that fit what was typed: first those that begin with it.
 * @param {string[]} names
 * @param {string} typed
 * @param {number} most
 */
export function fitting(names, typed, most = 30) {
  const wanted = typed.trim().toLowerCase();
  /** @type {string[]} */
  const begins = [];
  /** @type {string[]} */
  const holds = [];
  for (const name of names) {
    const at = name.toLowerCase().indexOf(wanted);
    if (at === 0) begins.push(name);
    else if (at > 0) holds.push(name);
    if (begins.length >= most) break;
  }
  return [...begins, ...holds].slice(0, most);
}

/**
 * Sum a preview up: how many maintenances, events, groups and VMs.
 * @param {Maintenance[]} made
 */
export function summaryOf(made) {
  const events = made.flatMap((each) => each.events);
  const groups = [...new Set(events.map((each) => each.group))];
  const vms = new Set(events.flatMap((each) => each.resources));
  const noun = count(groups.length, "group");
  const parts = [
    count(made.length, "maintenance"),
    count(events.length, "event"),
    `${noun} (${few(groups)})`,
    count(vms.size, "VM"),
  ];
  return parts.join(", ");
}

/**
 * Find the first NotBefore of a preview.
 * @param {Maintenance[]} made
 * @returns {string | null} null: nothing would be announced
 */
export function earliestOf(made) {
  const [first = null, ...others] = made.map((each) => each.not_before);
  if (first === null) return null;
  return others.reduce((one, other) => (ms(other) < ms(one) ? other : one), first);
}
