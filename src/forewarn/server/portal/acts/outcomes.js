// What came of what was asked, in a sentence.

import { few, titleOf } from "../parts.js";
import { local } from "../times.js";

/** @typedef {import("../types").Maintenance} Maintenance */

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
