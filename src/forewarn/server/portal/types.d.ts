// Types of the service's responses, limited to what the portal uses.

export type Phase = "SCHEDULED" | "STARTED" | "COMPLETED" | "CANCELED" | "FAILED";

export interface ScheduledEvent {
  id: string;
  maintenance: string;
  group: string;
  resources: string[];
  status: "Scheduled" | "Started" | null;
  approved_by: string | null;
  approved_via: string | null;
  approved_at: string | null;
  seen_by: string[];
}

export interface Maintenance {
  id: string;
  type: string;
  source: string;
  cause: string;
  phase: Phase;
  host: string | null;
  vms: string[];
  not_before: string;
  duration_seconds: number;
  description: string;
  announced_at: string;
  started_at: string | null;
  ended_at: string | null;
  stuck_since: string | null;
  reason: string | null;
  events: ScheduledEvent[];
}

export interface Wait {
  kind: "approval" | "time" | "blocker" | "lead" | "work";
  rule: string | null;
  text: string;
  groups: string[];
  maintenance: string | null;
  held_by: string | null;
  since: string | null;
  until: string | null;
  unblocked_by: { text: string; command: string | null }[];
}

export interface Sight {
  event: string;
  vm: string;
  at: string;
}

export interface Item {
  maintenance: Maintenance;
  due: boolean;
  waits: Wait[];
  starts_at_latest: string | null;
  can: string[];
  seen: Sight[];
}

export interface Overview {
  position: number;
  clock: string;
  now: string;
  items: Item[];
  next: string | number | null;
}

export interface Entry {
  position: number;
  at: string;
  fact: string;
  text: string;
  maintenance: string | Maintenance | null;
  event: string | null;
  group: string | null;
  by: string | null;
  via: string | null;
  [own: string]: unknown;
}

export interface Session {
  name: string;
  role: "viewer" | "operator" | "admin" | "group";
  group: string | null;
  signed_in: boolean;
  expires_at: string | null;
  may: string[];
}

export interface Fault {
  id: string;
  text: string;
  on: string;
  vms: string[];
  left: number | null;
  left_seconds: number | null;
  set_by: string;
}

/** A token or VM whose requests were refused recently. */
export interface LimitedCaller {
  text: string;
}

export interface Problem {
  text: string;
  seconds: number | null; // its age when it was reported
}

export interface GroupOnMap {
  name: string;
  kind: string;
  enabled: string;
  is_disabled: boolean;
  last_request: string | null;
}

export interface FleetMap {
  position: number;
  now: string;
  hosts: string[];
  groups: GroupOnMap[];
  vms: {
    name: string[];
    group: number[];
    host: (number | null)[];
    update_domain: (number | null)[];
    spot: boolean[];
    deallocated: boolean[];
    last_request: (string | null)[];
  };
}

export interface Explanation {
  phase: Phase;
  due: boolean;
  summary: string;
  waits: Wait[];
  starts_at_latest: string | null;
  hint: string | null;
}

export interface Story {
  notice_given_seconds: number;
  notice_used_seconds: number | null;
  entries: { at: string; what: string }[];
  sentences: string[];
}

/** State of the connection to the service. */
export interface Link {
  state: "connecting" | "live" | "lost";
  /** Time of the next attempt, in ms of `performance.now()`. */
  again?: number;
  /** Why the service refused the connection; null if it gave no reason. */
  why?: string | null;
}
