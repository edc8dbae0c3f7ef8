// A sentence for every kind of fact, for people who watch the journal.
// Words for what an item is, who has seen it and who has approved it.
// What an id stands for, as far as the page knows it.

import { count, few, titleOf } from "../components.js";
import { span, utc } from "../times.js";
import { isWithdrawn } from "./sections.js";

/** @typedef {import("../types").Entry} Entry */
/** @typedef {import("../types").Maintenance} Maintenance */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

/** @typedef {(id: string) => string | null} NameOf names what an id stands for */
/** @typedef {(entry: Entry, name: string, nameOf: NameOf) => string} Writer */

const NOUNS = { hosts: "host", groups: "group", vms: "VM" };
const LONGEST = 160; // of what a driver or a reason says; the story has it all

/** @type {Record<string, string>} */
export const WAYS = {
  metadata: "at the metadata endpoint",
  control: "by the control API",
  arm: "by Azure's Resource Manager API",
  policy: "beforehand, by the settings of the group",
};

/** @type {Record<string, Writer>} */
const WORDS = {
  FleetChanged: (entry) => `${entry.by ?? "The service"} ${fleetChange(entry)}`,
  ListeningBegan: (entry) => `Group ${entry.group} began to ask for events`,
  Announced: announced,
  Approved: approved,
  VmsLeft: (entry, name) =>
    `${name}: ${few(names(entry.vms))} left and will not be touched`,
  Withdrawn: (entry, name) =>
    `${name} withdrawn for group ${entry.group}: all its VMs have left`,
  Started: (_, name) => `${name} started`,
  WorkBegan: (entry, name) => `${name}: the driver is called, attempt ${entry.attempt}`,
  WorkDone: (entry, name) =>
    `${name}: ${few(names(entry.vms))} done${aside(entry.detail)}`,
  WorkFailed: (entry, name) =>
    `${name} is stuck: the driver failed on ${few(names(entry.vms))}` +
    aside(entry.detail),
  WorkPrinted: printed,
  WorkRetried: (entry, name) => `${name} is tried again, ${whose(entry)}`,
  WorkEnded: (entry, name) =>
    `${name} said to be done, ${whose(entry)}${reason(entry)}`,
  Completed: (_, name) => `${name} completed`,
  Canceled: (entry, name) => `${name} canceled, ${whose(entry)}${reason(entry)}`,
  Closed: (entry, name) => `${name} given up, ${whose(entry)}${reason(entry)}`,
  Published: published,
  Seen: seen,
  OutageEnded: outage,
  TokenCreated: (entry) =>
    `${entry.by} gave out the token ${entry.name}, ${roleOf(entry)}`,
  TokenRevoked: (entry) =>
    `Token ${entry.name} revoked, ${whose(entry, "as its group is gone")}`,
  AccessRefused: refused,
};

/** The kinds of facts that have words here. */
export const KINDS = Object.keys(WORDS);

/**
 * Tell a fact in a sentence, without its full stop; times in it are written in UTC.
 * @param {Entry} entry
 * @param {NameOf} nameOf null: that it is not known
 * @returns {string}
 */
export function wordsOf(entry, nameOf = () => null) {
  const id = typeof entry.maintenance === "string" ? entry.maintenance : null;
  const name = id === null ? "" : (nameOf(id) ?? `Maintenance ${id}`);
  return (WORDS[entry.fact] ?? unknown)(entry, name, nameOf);
}

/** @type {Writer} */
function unknown(entry, name) {
  const words = entry.fact.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  const group = entry.group ? `, group ${entry.group}` : "";
  const by = entry.by ? `, by ${entry.by}` : "";
  return `${name || "The service"}: ${words}${group}${by}`;
}

// --- what is particular to a fact --------------------------------------------

/** @type {Writer} */
function announced(entry, name) {
  const made = /** @type {Maintenance} */ (entry.announced);
  const isAtOnce = made.not_before === made.announced_at;
  const when = isAtOnce ? "at once" : `not before ${utc(made.not_before)}`;
  return `${name} announced ${whose(entry)}, ${when}${aside(made.reason)}`;
}

/** @type {Writer} */
function approved(entry, name) {
  if (entry.via === "policy")
    return `${name} approved beforehand, by the settings of group ${entry.group}`;
  const way = WAYS[entry.via ?? ""] ?? `via ${entry.via}`;
  return `${entry.by} approved ${name} for group ${entry.group}, ${way}`;
}

/** @type {Writer} */
function printed(entry, name) {
  const lines = String(entry.output ?? "")
    .split("\n")
    .map((each) => each.trim())
    .filter(Boolean);
  const last = cut(lines.at(-1) ?? "nothing");
  const many = lines.length > 1 ? `${count(lines.length, "line")}, the last: ` : "";
  return `${name}: the driver left to read: ${many}${last}`;
}

/** @type {Writer} */
function published(entry) {
  const audience = String(entry.audience ?? entry.group);
  const isGroup = audience === entry.group;
  const whom = isGroup ? `Group ${audience}` : `${audience} of group ${entry.group}`;
  return `${whom} has a new document, incarnation ${entry.incarnation}`;
}

/** @type {Writer} */
function seen(entry, _, nameOf) {
  const sights = /** @type {{event: string, vm: string}[]} */ (entry.sights ?? []);
  const vms = [...new Set(sights.map((each) => each.vm))];
  const events = [...new Set(sights.map((each) => each.event))];
  const titles = [...new Set(events.map((each) => nameOf(each) ?? `event ${each}`))];
  const what = titles.length > 2 ? count(events.length, "event") : titles.join(" and ");
  return `${few(vms)} ${vms.length === 1 ? "has" : "have"} seen ${what}`;
}

/** @type {Writer} */
function outage(entry) {
  const away = /** @type {{since: string} | undefined} */ (entry.outage);
  const since = away ? `; it was away since ${utc(away.since)}` : "";
  return `The service is back${since}`;
}

/** @type {Writer} */
function refused(entry) {
  const listed = /** @type {{address: string, attempts: number}[]} */ (
    entry.refusals ?? []
  );
  const told = listed.map((each) => `${each.attempts} from ${each.address}`);
  return `Tokens that are none were refused: ${few(told)}`;
}

/** @param {Entry} entry */
function fleetChange(entry) {
  const came = kinds(entry, "");
  const left = kinds(entry, "removed_");
  const parts = [];
  if (came) parts.push(`put ${came} into the fleet`);
  if (left) parts.push(`removed ${left}`);
  return parts.join(" and ") || "changed the fleet";
}

/**
 * @param {Entry} entry
 * @param {string} prefix
 */
function kinds(entry, prefix) {
  return Object.entries(NOUNS)
    .map(([key, noun]) => ({ noun, named: names(entry[`${prefix}${key}`]) }))
    .filter(({ named }) => named.length)
    .map(({ noun, named }) =>
      named.length === 1 ? `${noun} ${named[0]}` : count(named.length, noun),
    )
    .join(", ");
}

// --- words -------------------------------------------------------------------

/** @param {Entry} entry */
function roleOf(entry) {
  return entry.group ? `for group ${entry.group}` : `role ${entry.role}`;
}

/**
 * @param {Entry} entry
 * @param {string} nobody
 */
function whose(entry, nobody = "by itself") {
  return entry.by ? `by ${entry.by}` : nobody;
}

/** @param {Entry} entry */
function reason(entry) {
  return aside(entry.reason);
}

/** @param {unknown} text */
function aside(text) {
  const words = String(text ?? "").trim();
  return words ? ` (${cut(words)})` : "";
}

/** @param {string} text */
function cut(text) {
  const line = text.replace(/\s+/g, " ");
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`;
}

/**
 * @param {unknown} listed names, or things that have one
 * @returns {string[]}
 */
function names(listed) {
  const all = /** @type {(string | {name: string})[]} */ (listed ?? []);
  return all.map((each) => (typeof each === "string" ? each : each.name));
}

/** @type {Record<string, string>} */
export const CAUSES = {
  platform: "planned work on the platform",
  degraded: "hardware that is predicted to fail",
  "host-failure": "hardware that has failed",
  "user-restart": "a user asked for a restart",
  "user-redeploy": "a user asked for a redeploy",
  eviction: "a spot VM is taken back",
  "scale-in": "a VM is deleted",
  reimage: "a VM gets a new image",
};

/**
 * Say where a maintenance comes from: its source and cause.
 * @param {Maintenance} maintenance
 */
export function originOf({ source, cause }) {
  return `${source}: ${CAUSES[cause] ?? cause}`;
}

/**
 * Say how many have seen an event: "seen by 1 of 2 VMs, and 1 other" (of the group).
 * @param {import("./sections.js").Sighting} sighting
 */
export function seenWords({ touched, others, missing }) {
  if (!touched.length && !others.length) return "not seen yet";
  const all = touched.length + missing.length;
  const begin = `seen by ${touched.length} of ${count(all, "VM")}`;
  if (!others.length) return begin;
  return `${begin}, and ${count(others.length, "other")}`;
}

/**
 * Say by whom an event was approved, and how; not when.
 * @param {Maintenance} maintenance
 * @param {ScheduledEvent} event
 */
export function approvedWords(maintenance, event) {
  if (event.approved_at) {
    const way = WAYS[event.approved_via ?? ""] ?? `via ${event.approved_via}`;
    const by = event.approved_by && event.approved_via !== "policy";
    return by ? `approved by ${event.approved_by}, ${way}` : `approved ${way}`;
  }
  if (isWithdrawn(maintenance, event)) return "withdrawn: all its VMs have left";
  const isOver = maintenance.started_at || maintenance.ended_at;
  return isOver ? "not approved" : "not approved yet";
}

/**
 * Say how long the work is expected to take.
 * @param {number} seconds -1: that is not known
 */
export function durationWords(seconds) {
  return seconds < 0 ? "not known beforehand" : span(seconds * 1000);
}

/**
 * Name maintenances and events by their ids: "Reboot of host-a".
 * @param {Map<string, import("../types").Item>} items
 * @param {import("../types").Entry[]} facts
 * @returns {(id: string) => string | null} null: it is not known
 */
export function namesOf(items, facts) {
  /** @type {Map<string, Maintenance> | null} */
  let others = null; // found when one is asked for: most are not
  return (id) => {
    const item = items.get(id);
    if (item) return titleOf(item.maintenance);
    others ??= gathered(items, facts);
    const found = others.get(id);
    return found ? titleOf(found) : null;
  };
}

/**
 * @param {Map<string, import("../types").Item>} items
 * @param {import("../types").Entry[]} facts
 */
function gathered(items, facts) {
  /** @type {Map<string, Maintenance>} */
  const found = new Map();
  const keep = (/** @type {Maintenance} */ maintenance) => {
    found.set(maintenance.id, maintenance);
    for (const event of maintenance.events) found.set(event.id, maintenance);
  };
  for (const { announced } of facts) {
    if (announced) keep(/** @type {Maintenance} */ (announced));
  }
  for (const { maintenance } of items.values()) keep(maintenance);
  return found;
}
