// Phrases for facts of the journal, and for the origin, sightings and approvals of
// maintenances.

import { count, few, titleOf } from "../components.js";
import { span, utc } from "../times.js";
import { isWithdrawn } from "./sections.js";

/** @typedef {import("../types").Entry} Entry */
/** @typedef {import("../types").Maintenance} Maintenance */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

/** @typedef {(id: string) => string | null} NameOf null if the id is unknown */
/** @typedef {(entry: Entry, name: string, nameOf: NameOf) => string} Writer */

const NOUNS = { hosts: "host", groups: "group", vms: "VM" };
const LONGEST = 160; // characters of a detail or reason; the story has all of it

/** @type {Record<string, string>} */
const APPROVAL_PATHS = {
  metadata: "at the metadata endpoint",
  control: "by the control API",
  arm: "by Azure's Resource Manager API",
  policy: "beforehand, by the settings of the group",
};

/** @type {Record<string, Writer>} */
const WRITERS = {
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
    `${name}: ${few(names(entry.vms))} done${inParentheses(entry.detail)}`,
  WorkFailed: (entry, name) =>
    `${name} is stuck: the driver failed on ${few(names(entry.vms))}` +
    inParentheses(entry.detail),
  WorkPrinted: printed,
  WorkRetried: (entry, name) => `${name} is tried again, ${authorOf(entry)}`,
  WorkEnded: (entry, name) =>
    `${name} said to be done, ${authorOf(entry)}${reason(entry)}`,
  Completed: (_, name) => `${name} completed`,
  Canceled: (entry, name) => `${name} canceled, ${authorOf(entry)}${reason(entry)}`,
  Closed: (entry, name) => `${name} given up, ${authorOf(entry)}${reason(entry)}`,
  Published: published,
  Seen: seen,
  OutageEnded: outageEnded,
  TokenCreated: (entry) =>
    `${entry.by} gave out the token ${entry.name}, ${roleOf(entry)}`,
  TokenRevoked: (entry) =>
    `Token ${entry.name} revoked, ${authorOf(entry, "as its group is gone")}`,
  AccessRefused: refused,
};

/** The kinds of facts that have their own sentence. */
export const FACT_KINDS = Object.keys(WRITERS);

/**
 * Describe a fact in a sentence, without its full stop; times in it are in UTC.
 * @param {Entry} entry
 * @param {NameOf} nameOf
 * @returns {string}
 */
export function factSentence(entry, nameOf = () => null) {
  const id = typeof entry.maintenance === "string" ? entry.maintenance : null;
  const name = id === null ? "" : (nameOf(id) ?? `Maintenance ${id}`);
  return (WRITERS[entry.fact] ?? unknown)(entry, name, nameOf);
}

/** @type {Writer} */
function unknown(entry, name) {
  const words = entry.fact.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  const group = entry.group ? `, group ${entry.group}` : "";
  const by = entry.by ? `, by ${entry.by}` : "";
  return `${name || "The service"}: ${words}${group}${by}`;
}

// --- facts ---------------------------------------------------------------------

/** @type {Writer} */
function announced(entry, name) {
  const maintenance = /** @type {Maintenance} */ (entry.announced);
  const { not_before, announced_at, reason } = maintenance;
  const isAtOnce = not_before === announced_at;
  const when = isAtOnce ? "at once" : `not before ${utc(not_before)}`;
  return `${name} announced ${authorOf(entry)}, ${when}${inParentheses(reason)}`;
}

/** @type {Writer} */
function approved(entry, name) {
  if (entry.via === "policy")
    return `${name} approved beforehand, by the settings of group ${entry.group}`;
  const way = APPROVAL_PATHS[entry.via ?? ""] ?? `via ${entry.via}`;
  return `${entry.by} approved ${name} for group ${entry.group}, ${way}`;
}

/** @type {Writer} */
function printed(entry, name) {
  const lines = String(entry.output ?? "")
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);
  const last = cut(lines.at(-1) ?? "nothing");
  const many = lines.length > 1 ? `${count(lines.length, "line")}, the last: ` : "";
  return `${name}: the driver left to read: ${many}${last}`;
}

/** @type {Writer} */
function published(entry) {
  const audience = String(entry.audience ?? entry.group);
  const isGroup = audience === entry.group;
  const target = isGroup ? `Group ${audience}` : `${audience} of group ${entry.group}`;
  return `${target} has a new document, incarnation ${entry.incarnation}`;
}

/** @type {Writer} */
function seen(entry, _, nameOf) {
  const sights = /** @type {{event: string, vm: string}[]} */ (entry.sights ?? []);
  const vms = [...new Set(sights.map(({ vm }) => vm))];
  const events = [...new Set(sights.map(({ event }) => event))];
  const titles = [...new Set(events.map((id) => nameOf(id) ?? `event ${id}`))];
  const what = titles.length > 2 ? count(events.length, "event") : titles.join(" and ");
  return `${few(vms)} ${vms.length === 1 ? "has" : "have"} seen ${what}`;
}

/** @type {Writer} */
function outageEnded(entry) {
  const outage = /** @type {{since: string} | undefined} */ (entry.outage);
  const since = outage ? `; it was away since ${utc(outage.since)}` : "";
  return `The service is back${since}`;
}

/** @type {Writer} */
function refused(entry) {
  const refusals = /** @type {{address: string, attempts: number}[]} */ (
    entry.refusals ?? []
  );
  const counts = refusals.map(({ attempts, address }) => `${attempts} from ${address}`);
  return `Tokens that are none were refused: ${few(counts)}`;
}

/** @param {Entry} entry */
function fleetChange(entry) {
  const added = changedObjects(entry, "");
  const removed = changedObjects(entry, "removed_");
  const parts = [];
  if (added) parts.push(`put ${added} into the fleet`);
  if (removed) parts.push(`removed ${removed}`);
  return parts.join(" and ") || "changed the fleet";
}

/**
 * @param {Entry} entry
 * @param {string} prefix
 */
function changedObjects(entry, prefix) {
  return Object.entries(NOUNS)
    .map(([key, noun]) => ({ noun, named: names(entry[`${prefix}${key}`]) }))
    .filter(({ named }) => named.length)
    .map(({ noun, named }) =>
      named.length === 1 ? `${noun} ${named[0]}` : count(named.length, noun),
    )
    .join(", ");
}

// --- parts of sentences ----------------------------------------------------------

/** @param {Entry} entry */
function roleOf(entry) {
  return entry.group ? `for group ${entry.group}` : `role ${entry.role}`;
}

/**
 * @param {Entry} entry
 * @param {string} nobody
 */
function authorOf(entry, nobody = "by itself") {
  return entry.by ? `by ${entry.by}` : nobody;
}

/** @param {Entry} entry */
function reason(entry) {
  return inParentheses(entry.reason);
}

/** @param {unknown} text */
function inParentheses(text) {
  const words = String(text ?? "").trim();
  return words ? ` (${cut(words)})` : "";
}

/** @param {string} text */
function cut(text) {
  const line = text.replace(/\s+/g, " ");
  return line.length <= LONGEST ? line : `${line.slice(0, LONGEST - 1)}…`;
}

/**
 * @param {unknown} list names, or objects that have one
 * @returns {string[]}
 */
function names(list) {
  const values = /** @type {(string | {name: string})[]} */ (list ?? []);
  return values.map((value) => (typeof value === "string" ? value : value.name));
}

// --- maintenances and events ----------------------------------------------------

/** @type {Record<string, string>} */
const CAUSES = {
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
 * Describe the source and cause of a maintenance.
 * @param {Maintenance} maintenance
 */
export function originOf({ source, cause }) {
  return `${source}: ${CAUSES[cause] ?? cause}`;
}

/**
 * Count the VMs that have seen an event: "seen by 1 of 2 VMs, and 1 other" (of the
 * same group).
 * @param {import("./sections.js").Sighting} sighting
 */
export function seenPhrase({ affected, others, missing }) {
  if (!affected.length && !others.length) return "not seen yet";
  const total = affected.length + missing.length;
  const start = `seen by ${affected.length} of ${count(total, "VM")}`;
  if (!others.length) return start;
  return `${start}, and ${count(others.length, "other")}`;
}

/**
 * Describe who approved an event, and through which API; not when.
 * @param {Maintenance} maintenance
 * @param {ScheduledEvent} event
 */
export function approvalPhrase(maintenance, event) {
  if (event.approved_at) {
    const way = APPROVAL_PATHS[event.approved_via ?? ""] ?? `via ${event.approved_via}`;
    const by = event.approved_by && event.approved_via !== "policy";
    return by ? `approved by ${event.approved_by}, ${way}` : `approved ${way}`;
  }
  if (isWithdrawn(maintenance, event)) return "withdrawn: all its VMs have left";
  const isOver = maintenance.started_at || maintenance.ended_at;
  return isOver ? "not approved" : "not approved yet";
}

/**
 * Describe how long the work is expected to take.
 * @param {number} seconds -1 if unknown
 */
export function durationPhrase(seconds) {
  return seconds < 0 ? "not known beforehand" : span(seconds * 1000);
}

// --- titles ----------------------------------------------------------------------

/**
 * Return a function that looks up the title of a maintenance or event by its id:
 * "Reboot of host-a".
 * @param {Map<string, import("../types").Item>} items
 * @param {Entry[]} facts
 * @returns {NameOf}
 */
export function namesOf(items, facts) {
  /** @type {Map<string, Maintenance> | null} */
  let all = null; // built on demand: most ids are in `items`
  return (id) => {
    const item = items.get(id);
    if (item) return titleOf(item.maintenance);
    all ??= maintenancesById(items, facts);
    const maintenance = all.get(id);
    return maintenance ? titleOf(maintenance) : null;
  };
}

/**
 * @param {Map<string, import("../types").Item>} items
 * @param {Entry[]} facts
 */
function maintenancesById(items, facts) {
  /** @type {Map<string, Maintenance>} */
  const byId = new Map();
  const add = (/** @type {Maintenance} */ maintenance) => {
    byId.set(maintenance.id, maintenance);
    for (const event of maintenance.events) byId.set(event.id, maintenance);
  };
  for (const { announced } of facts) {
    if (announced) add(/** @type {Maintenance} */ (announced));
  }
  for (const { maintenance } of items.values()) add(maintenance);
  return byId;
}
