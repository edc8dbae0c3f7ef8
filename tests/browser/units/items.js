// Builders of the service's objects; every field has a default.

/** @param {object} more */
export function anEvent(more = {}) {
  return {
    id: "e0",
    maintenance: "m0",
    group: "web",
    resources: ["web-0"],
    status: "Scheduled",
    approved_by: null,
    approved_via: null,
    approved_at: null,
    seen_by: [],
    ...more,
  };
}

/** @param {object} more */
export function aMaintenance(more = {}) {
  return {
    id: "m0",
    type: "Reboot",
    source: "Platform",
    cause: "platform",
    phase: "SCHEDULED",
    host: "host-a",
    vms: ["web-0"],
    not_before: "2026-11-16T12:15:00Z",
    duration_seconds: -1,
    description: "",
    announced_at: "2026-11-16T12:00:00Z",
    started_at: null,
    ended_at: null,
    stuck_since: null,
    reason: null,
    events: [anEvent()],
    ...more,
  };
}

/**
 * @param {object} maintenance
 * @param {object} more
 */
export function anItem(maintenance = {}, more = {}) {
  return {
    maintenance: aMaintenance(maintenance),
    due: false,
    waits: [],
    starts_at_latest: null,
    can: [],
    seen: [],
    ...more,
  };
}

/**
 * @param {string} fact
 * @param {object} more
 */
export function anEntry(fact, more = {}) {
  return {
    position: 1,
    at: "2026-11-16T12:00:00Z",
    fact,
    text: "",
    maintenance: null,
    event: null,
    group: null,
    by: null,
    via: null,
    ...more,
  };
}
