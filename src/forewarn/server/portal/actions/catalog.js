// Catalog of actions on maintenance, VMs and hosts: descriptions, request bodies and
// outcomes. The service decides which actions are possible and who may use them.

import { count, few, titleOf } from "../components.js";
import { durationError, local, parseDuration } from "../times.js";

/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} Action
 * @property {string} label of the button that opens the dialog
 * @property {string} verb label of the button that confirms it
 * @property {string} [dismiss] label of the button that closes the dialog; "Cancel" if
 *   not set
 * @property {(name: string) => string} effect describes what the action does
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
      `This approves the selected events of “${title}”. Once all of its events are ` +
      "approved, the maintenance starts unless it is blocked.",
    fields: [],
  },
  complete: {
    label: "Mark as done",
    verb: "Mark as done",
    effect: (title) =>
      `This marks “${title}” as done and skips the rest of its duration. ` +
      "Its events then disappear from the VMs' documents.",
    fields: [],
  },
  retry: {
    label: "Retry",
    verb: "Retry",
    effect: (title) => `This runs the driver again for the remaining VMs of “${title}”.`,
    fields: [],
  },
  cancel: {
    label: "Cancel maintenance",
    verb: "Cancel maintenance",
    dismiss: "Keep maintenance",
    effect: (title) =>
      `This cancels “${title}”, and its events disappear from the VMs' documents. ` +
      "Announcing it again starts a new full notice period.",
    fields: ["reason"],
    isDanger: true,
  },
  close: {
    label: "Give up",
    verb: "Give up",
    effect: (title) =>
      `This gives up on “${title}” and closes it as failed. Its events disappear from ` +
      "the VMs' documents. Work that the driver has not finished is abandoned.",
    fields: ["reason"],
    isDanger: true,
  },
};

/** @type {Record<string, Action>} */
export const VM_ACTIONS = {
  start: {
    label: "Mark as running",
    verb: "Mark as running",
    effect: (vm) =>
      `This marks ${vm} as running, so that maintenance affects it again. ` +
      "It does not start the VM itself; start it in your hypervisor.",
    fields: [],
  },
  restart: {
    label: "Restart",
    verb: "Restart",
    effect: (vm) =>
      `This restarts ${vm} as if a user had requested it. Its group gets 15 minutes' ` +
      "notice and can approve the restart to start it early. If the group is " +
      "disabled or pre-approves restarts, the VM restarts immediately.",
    fields: ["reason"],
  },
  redeploy: {
    label: "Redeploy",
    verb: "Redeploy",
    effect: (vm) =>
      `This moves ${vm} to another host as if a user had requested it. Its group ` +
      "gets 10 minutes' notice and can approve the redeploy to start it early. If " +
      "the group is disabled or pre-approves redeploys, the VM moves immediately.",
    fields: ["reason"],
  },
  reimage: {
    label: "Reimage",
    verb: "Reimage",
    effect: (vm) =>
      `This reimages ${vm} and restarts it. Its group gets 15 minutes' notice and ` +
      "can approve the reimage to start it early. If the group is disabled, the VM " +
      "is reimaged immediately.",
    fields: ["reason"],
    isDanger: true,
  },
  evict: {
    label: "Evict",
    verb: "Evict",
    effect: (vm) =>
      `This evicts the spot VM ${vm}. Its group gets 30 seconds' notice. The VM then ` +
      "leaves the fleet or is deallocated, depending on its eviction policy.",
    fields: ["reason"],
    isDanger: true,
  },
  delete: {
    label: "Delete",
    verb: "Delete",
    effect: (vm) =>
      `This deletes ${vm}, which leaves the fleet when the deletion is complete. ` +
      "If its scale set uses terminate notifications, the VM gets that notice first, " +
      "unless it is a spot VM. Otherwise, the VM is deleted immediately.",
    fields: ["reason"],
    isDanger: true,
  },
};

/** @type {Record<string, Action>} */
export const HOST_ACTIONS = {
  degraded: {
    label: "Mark as degraded",
    verb: "Mark as degraded",
    effect: (host) =>
      `This reports that ${host} is predicted to fail. Its VMs are redeployed within ` +
      "seven days, or by the time below. Each group's VMs move independently, as " +
      "soon as the group approves its event or redeploys them. If the host is already degraded, setting an " +
      "earlier time replaces its existing events with new ones. VMs that were added " +
      "to the host after the first report also get events.",
    fields: ["fails_by", "reason"],
  },
  failed: {
    label: "Mark as failed",
    verb: "Mark as failed",
    effect: (host) =>
      `This reports that ${host} has failed. Its scheduled maintenance is canceled, ` +
      "and its VMs are notified immediately. The event ends when the host is marked " +
      "as recovered, or after the duration below.",
    fields: ["duration", "reason"],
    isDanger: true,
  },
  recovered: {
    label: "Mark as recovered",
    verb: "Mark as recovered",
    effect: (host) =>
      `This reports that ${host} is healthy again. If it had failed, its events end. ` +
      "If it was degraded, its pending redeploys are canceled. Other maintenance " +
      "stays scheduled.",
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
  if (time === null) errors[field] = "Enter a date and time.";
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

/** @type {Record<string, string>} messages for when no maintenance was affected */
const NONE = {
  recovered: "Nothing to do: the host is not marked as degraded or failed.",
  degraded: "The host has no running VMs, so no VM was notified.",
  failed: "The host has no running VMs, so no VM was notified.",
  start: "The VM is marked as running.",
};

/** @type {Record<string, string>} outcomes that the phase does not reveal */
const OUTCOMES = {
  complete: "Marked as done",
  retry: "Running the driver again",
  recovered: "Ended",
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
  if (first === undefined) return NONE[action] ?? "Nothing to do.";
  if (maintenances.length === 1) {
    const outcome = OUTCOMES[action] ?? PHASES[first.phase];
    return `${outcome}: ${describe(first, now)}.`;
  }
  const isScheduled = maintenances.every(({ phase }) => phase === "SCHEDULED");
  const outcome = OUTCOMES[action] ?? (isScheduled ? "Scheduled" : "Affected");
  const number = count(maintenances.length, "maintenance operation");
  return `${outcome}: ${number} (${few(maintenances.map(titleOf), 2)}).`;
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
