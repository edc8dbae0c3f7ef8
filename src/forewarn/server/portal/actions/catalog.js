// What can be asked for a maintenance, a VM or a host: what happens then, in words,
// and what is sent. What is possible now, and who may ask, the service says.
// What came of what was asked, in a sentence.

import { few, titleOf } from "../components.js";
import { local, notADuration, secondsOf } from "../times.js";

/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} Order
 * @property {string} label of the button that opens the dialog
 * @property {string} verb of the button that does it
 * @property {(name: string) => string} says what will happen
 * @property {Field[]} fields what may be told beside it
 * @property {boolean} [isDanger]
 */

/** @typedef {"reason" | "fails_by" | "duration"} Field */

/** @type {Record<string, Order>} */
export const OF_MAINTENANCES = {
  approve: {
    label: "Approve",
    verb: "Approve",
    says: (title) =>
      `You approve ${title} on behalf of the groups below. ` +
      "When all its groups have approved, it is due, and starts unless a gate is shut.",
    fields: [],
  },
  complete: {
    label: "Complete",
    verb: "Complete it",
    says: (title) =>
      `The work of ${title} counts as done and its duration as over. ` +
      "Its VMs are told that it has ended.",
    fields: [],
  },
  retry: {
    label: "Retry",
    verb: "Retry",
    says: (title) => `The driver tries again what is still to do of ${title}.`,
    fields: [],
  },
  cancel: {
    label: "Cancel",
    verb: "Cancel it",
    says: (title) =>
      `${title} is called off, and every group it was announced to is told. ` +
      "Whoever announces it again has to give notice again.",
    fields: ["reason"],
    isDanger: true,
  },
  close: {
    label: "Close",
    verb: "Give it up",
    says: (title) =>
      `${title} is given up: it ends as failed, its events are gone, ` +
      "and what the driver has left undone stays undone.",
    fields: ["reason"],
    isDanger: true,
  },
};

/** @type {Record<string, Order>} */
export const OF_VMS = {
  restart: {
    label: "Restart",
    verb: "Restart it",
    says: (vm) =>
      `${vm} is restarted, as its user asks. Its group is told 15 minutes before and ` +
      "may approve it early. It happens at once if the group is silent, or approves " +
      "restarts beforehand.",
    fields: ["reason"],
  },
  redeploy: {
    label: "Redeploy",
    verb: "Redeploy it",
    says: (vm) =>
      `${vm} is moved to another host, as its user asks. Its group is told 10 minutes ` +
      "before and may approve it early. It happens at once if the group is silent, or " +
      "approves redeployments beforehand.",
    fields: ["reason"],
  },
  reimage: {
    label: "Reimage",
    verb: "Reimage it",
    says: (vm) =>
      `${vm} gets a new image, and reboots. Its group is told 15 minutes before and ` +
      "may approve it early. It happens at once if the group is silent.",
    fields: ["reason"],
    isDanger: true,
  },
  evict: {
    label: "Evict",
    verb: "Evict it",
    says: (vm) =>
      `${vm} is taken back, as spot VMs are. Its group is told 30 seconds before. ` +
      "It stays in the fleet.",
    fields: ["reason"],
    isDanger: true,
  },
  delete: {
    label: "Delete",
    verb: "Delete it",
    says: (vm) =>
      `${vm} is deleted, and leaves the fleet when that is done. A scale set that ` +
      "gives terminate notice is told before; other VMs, and spot VMs, are deleted " +
      "at once.",
    fields: ["reason"],
    isDanger: true,
  },
};

/** @type {Record<string, Order>} */
export const OF_HOSTS = {
  degraded: {
    label: "Degraded",
    verb: "Tell its VMs",
    says: (host) =>
      `${host} is predicted to fail: its VMs are redeployed, after seven days at the ` +
      "latest, and earlier if they approve it. Said again, only an earlier time " +
      "changes anything.",
    fields: ["fails_by", "reason"],
  },
  failed: {
    label: "Failed",
    verb: "Tell its VMs",
    says: (host) =>
      `${host} has failed: what was planned for it is canceled, and its VMs are told ` +
      "at once, until it has recovered or the duration is over.",
    fields: ["duration", "reason"],
    isDanger: true,
  },
  recovered: {
    label: "Recovered",
    verb: "Tell its VMs",
    says: (host) =>
      `${host} is well: not degraded any more, its failure over. ` +
      "Planned maintenance of it stays.",
    fields: ["reason"],
  },
};

/**
 * @typedef {object} Written what is sent, or what is wrong with it
 * @property {Record<string, unknown>} body
 * @property {Record<string, string>} wrong a sentence for each field that is
 */

/**
 * Turn what was written into what is sent; what was left empty is left out.
 * @param {Record<string, string>} values as fields have them: times in the viewer's zone
 * @returns {Written}
 */
export function bodyOf(values) {
  /** @type {Written} */
  const written = { body: {}, wrong: {} };
  for (const [field, value] of Object.entries(values)) {
    if (value.trim()) WRITERS[field]?.(written, value);
  }
  return written;
}

/** @type {Record<string, (written: Written, value: string) => void>} */
export const WRITERS = {
  reason: ({ body }, value) => (body.reason = value.trim()),
  description: ({ body }, value) => (body.description = value.trim()),
  source: ({ body }, value) => (body.source = value),
  fails_by: (written, value) => moment(written, "fails_by", value),
  not_before: (written, value) => moment(written, "not_before", value),
  duration: (written, value) => seconds(written, "duration", value),
  notice: (written, value) => seconds(written, "notice", value),
};

/**
 * @param {Written} written
 * @param {string} field
 * @param {string} value
 */
function seconds({ body, wrong }, field, value) {
  const read = secondsOf(value);
  if (read === null) wrong[field] = notADuration(value);
  else body[`${field}_seconds`] = read;
}

/**
 * @param {Written} written
 * @param {string} field
 * @param {string} value
 */
function moment({ body, wrong }, field, value) {
  const read = utcOf(value);
  if (read === null) wrong[field] = "Give a day and a time.";
  else body[field] = read;
}

/**
 * Read a time of the viewer's zone, as a field of type datetime-local has it.
 * @param {string} value
 * @returns {string | null} RFC 3339 in UTC; null: it is no time
 */
export function utcOf(value) {
  const read = value ? new Date(value) : null;
  return read && !Number.isNaN(read.getTime()) ? read.toISOString() : null;
}

/** @type {Record<string, string>} */
const NONE = {
  recovered: "Nothing to do: the host is neither degraded nor failed.",
  degraded: "The host has no VMs; nobody was told.",
  failed: "The host has no VMs; nobody was told.",
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
 * Tell what an answer with maintenances means.
 * @param {string} act
 * @param {Maintenance[]} made
 * @param {number} now in ms of the service's clock
 */
export function outcomeOf(act, made, now) {
  const [first] = made;
  if (first === undefined) return NONE[act] ?? "Nothing was to do.";
  if (made.length === 1) return `${PHASES[first.phase]}: ${toldOf(first, now)}.`;
  const titles = few(made.map(titleOf), 2);
  return `${count(made)}: ${titles}.`;
}

/** @param {Maintenance[]} made */
function count(made) {
  const isAnnounced = made.every((each) => each.phase === "SCHEDULED");
  return `${made.length} maintenances${isAnnounced ? " scheduled" : ""}`;
}

/**
 * @param {Maintenance} maintenance
 * @param {number} now
 */
function toldOf(maintenance, now) {
  const title = titleOf(maintenance);
  if (maintenance.phase !== "SCHEDULED") return title;
  return `${title}, not before ${local(maintenance.not_before, now)}`;
}

/**
 * Tell that events were approved.
 * @param {string} title of the maintenance
 * @param {string[]} groups
 */
export function approvalOf(title, groups) {
  return `Approved for ${few(groups)}: ${title}.`;
}
