// Catalog of actions on maintenances, VMs and hosts: their texts, request bodies and
// outcomes. The service decides which of them are possible, and who may use them.

import { few, titleOf } from "../components.js";
import { durationError, local, parseDuration } from "../times.js";

/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} Action
 * @property {string} label of the button that opens the dialog
 * @property {string} verb of the button that confirms it
 * @property {(name: string) => string} effect what will happen
 * @property {Field[]} fields optional details
 * @property {boolean} [isDanger]
 */

/** @typedef {"reason" | "fails_by" | "duration"} Field */

/** @type {Record<string, Action>} */
export const MAINTENANCE_ACTIONS = {
  approve: {
    label: "Approve",
    verb: "Approve",
    effect: (title) =>
      `You approve ${title} on behalf of the groups below. ` +
      "When all its groups have approved, it is due, and starts unless blocked.",
    fields: [],
  },
  complete: {
    label: "Complete",
    verb: "Complete it",
    effect: (title) =>
      `The work of ${title} counts as done and its duration as over. ` +
      "Its VMs are told that it has ended.",
    fields: [],
  },
  retry: {
    label: "Retry",
    verb: "Retry",
    effect: (title) => `The driver tries again what is still to do of ${title}.`,
    fields: [],
  },
  cancel: {
    label: "Cancel",
    verb: "Cancel it",
    effect: (title) =>
      `${title} is called off, and every group it was announced to is told. ` +
      "Whoever announces it again has to give notice again.",
    fields: ["reason"],
    isDanger: true,
  },
  close: {
    label: "Close",
    verb: "Give it up",
    effect: (title) =>
      `${title} is given up: it ends as failed, its events are gone, ` +
      "and what the driver has left undone stays undone.",
    fields: ["reason"],
    isDanger: true,
  },
};

/** @type {Record<string, Action>} */
export const VM_ACTIONS = {
  start: {
    label: "Start",
    verb: "Mark it as running",
    effect: (vm) =>
      `${vm} is marked as running again, and maintenance affects it. ` +
      "This does not start the VM itself; do that in your hypervisor.",
    fields: [],
  },
  restart: {
    label: "Restart",
    verb: "Restart it",
    effect: (vm) =>
      `${vm} is restarted, as its user asks. Its group is told 15 minutes before and ` +
      "may approve it early. It happens at once if the group is disabled, or approves " +
      "restarts beforehand.",
    fields: ["reason"],
  },
  redeploy: {
    label: "Redeploy",
    verb: "Redeploy it",
    effect: (vm) =>
      `${vm} is moved to another host, as its user asks. Its group is told 10 minutes ` +
      "before and may approve it early. It happens at once if the group is disabled, or " +
      "approves redeployments beforehand.",
    fields: ["reason"],
  },
  reimage: {
    label: "Reimage",
    verb: "Reimage it",
    effect: (vm) =>
      `${vm} gets a new image, and reboots. Its group is told 15 minutes before and ` +
      "may approve it early. It happens at once if the group is disabled.",
    fields: ["reason"],
    isDanger: true,
  },
  evict: {
    label: "Evict",
    verb: "Evict it",
    effect: (vm) =>
      `${vm} is taken back, as spot VMs are. Its group is told 30 seconds before. ` +
      "Then it leaves the fleet, or stays in it deallocated, as its eviction policy " +
      "says.",
    fields: ["reason"],
    isDanger: true,
  },
  delete: {
    label: "Delete",
    verb: "Delete it",
    effect: (vm) =>
      `${vm} is deleted, and leaves the fleet when that is done. A scale set that ` +
      "gives terminate notice is told before; other VMs, and spot VMs, are deleted " +
      "at once.",
    fields: ["reason"],
    isDanger: true,
  },
};

/** @type {Record<string, Action>} */
export const HOST_ACTIONS = {
  degraded: {
    label: "Degraded",
    verb: "Tell its VMs",
    effect: (host) =>
      `${host} is predicted to fail: its VMs are redeployed within seven days. Each ` +
      "group leaves on its own, as soon as it approves or redeploys its VMs. Reported " +
      "again, an earlier time replaces the events, and VMs that have come to the host " +
      "since get theirs.",
    fields: ["fails_by", "reason"],
  },
  failed: {
    label: "Failed",
    verb: "Tell its VMs",
    effect: (host) =>
      `${host} has failed: what was planned for it is canceled, and its VMs are told ` +
      "at once, until it has recovered or the duration is over.",
    fields: ["duration", "reason"],
    isDanger: true,
  },
  recovered: {
    label: "Recovered",
    verb: "Tell its VMs",
    effect: (host) =>
      `${host} is well: not degraded any more, its failure over. ` +
      "Planned maintenance of it stays.",
    fields: ["reason"],
  },
};

/**
 * @typedef {object} FormResult
 * @property {Record<string, unknown>} body the request body
 * @property {Record<string, string>} errors a sentence for each invalid field
 */

/**
 * Convert field values to a request body; empty fields are omitted.
 * @param {Record<string, string>} values times are in the viewer's time zone
 * @returns {FormResult}
 */
export function bodyOf(values) {
  /** @type {FormResult} */
  const result = { body: {}, errors: {} };
  for (const [field, value] of Object.entries(values)) {
    if (value.trim()) WRITERS[field]?.(result, value);
  }
  return result;
}

/** @type {Record<string, (result: FormResult, value: string) => void>} */
const WRITERS = {
  reason: ({ body }, value) => (body.reason = value.trim()),
  description: ({ body }, value) => (body.description = value.trim()),
  source: ({ body }, value) => (body.source = value),
  fails_by: (result, value) => writeTime(result, "fails_by", value),
  not_before: (result, value) => writeTime(result, "not_before", value),
  duration: (result, value) => writeSeconds(result, "duration", value),
  notice: (result, value) => writeSeconds(result, "notice", value),
};

/**
 * @param {FormResult} result
 * @param {string} field
 * @param {string} value
 */
function writeSeconds({ body, errors }, field, value) {
  const seconds = parseDuration(value);
  if (seconds === null) errors[field] = durationError(value);
  else body[`${field}_seconds`] = seconds;
}

/**
 * @param {FormResult} result
 * @param {string} field
 * @param {string} value
 */
function writeTime({ body, errors }, field, value) {
  const time = toUtc(value);
  if (time === null) errors[field] = "Give a day and a time.";
  else body[field] = time;
}

/**
 * Convert the value of a datetime-local field, which is in the viewer's time zone.
 * @param {string} value
 * @returns {string | null} RFC 3339 in UTC; null if it is not a time
 */
export function toUtc(value) {
  const time = value ? new Date(value) : null;
  return time && !Number.isNaN(time.getTime()) ? time.toISOString() : null;
}

// --- outcomes ------------------------------------------------------------------

/** @type {Record<string, string>} what to report if no maintenance was affected */
const NONE = {
  recovered: "Nothing to do: the host is neither degraded nor failed.",
  degraded: "The host has no running VMs. Nobody was notified.",
  failed: "The host has no running VMs. Nobody was notified.",
  start: "It is marked as running.",
};

/** @type {Record<string, string>} */
const PHASES = {
  SCHEDULED: "Scheduled",
  STARTED: "Started",
  COMPLETED: "Completed",
  CANCELED: "Canceled",
  FAILED: "Given up",
};

/**
 * Describe the result of an action in a sentence.
 * @param {string} action
 * @param {Maintenance[]} maintenances that the service returned
 * @param {number} now in ms of the service's clock
 */
export function outcomeOf(action, maintenances, now) {
  const [first] = maintenances;
  if (first === undefined) return NONE[action] ?? "Nothing was to do.";
  if (maintenances.length === 1) {
    return `${PHASES[first.phase]}: ${describe(first, now)}.`;
  }
  const isAnnounced = maintenances.every(({ phase }) => phase === "SCHEDULED");
  const number = `${maintenances.length} maintenances`;
  const titles = few(maintenances.map(titleOf), 2);
  return `${number}${isAnnounced ? " scheduled" : ""}: ${titles}.`;
}

/**
 * @param {Maintenance} maintenance
 * @param {number} now
 */
function describe(maintenance, now) {
  const title = titleOf(maintenance);
  if (maintenance.phase !== "SCHEDULED") return title;
  return `${title}, not before ${local(maintenance.not_before, now)}`;
}

/**
 * Describe an approval in a sentence.
 * @param {string} title of the maintenance
 * @param {string[]} groups
 */
export function approvalOutcome(title, groups) {
  return `Approved for ${few(groups)}: ${title}.`;
}
