// Refreshes data that changed because of a fact, the passage of time, or a user action.

/** @typedef {import("../types").Overview} Overview */

const MOST_IDS = 100; // in one request
const PAUSE = 150; // ms between requests
const RETRY_DELAYS = [250, 500, 1000, 2000, 4000]; // ms

/** Collects outdated data and requests it, one request at a time. */
export class Refresher {
  /**
   * @param {import("./api.js").Api} api
   * @param {import("./model.js").Model} model
   * @param {() => AbortSignal | null} signal null while the page is not connected
   */
  constructor(api, model, signal) {
    this.api = api;
    this.model = model;
    this.signal = signal;
    /** @type {Set<string>} ids of maintenance or events */
    this.dirty = new Set();
    this.isBusy = false;
    this.failures = 0; // in a row
    this.wantsFleet = false;
    this.isFleetStale = false;
  }

  /**
   * Refresh these items soon.
   * @param {string[]} ids
   */
  refresh(ids) {
    for (const id of ids) this.dirty.add(id);
    this.start();
  }

  /**
   * Refresh these items and all due items, because blockers may change without a fact.
   * @param {string[]} ids
   */
  refreshDue(ids = []) {
    for (const id of ids) this.dirty.add(id);
    for (const { maintenance, due } of this.model.live()) {
      if (due && !maintenance.started_at) this.dirty.add(maintenance.id);
    }
    this.refreshOverdue();
  }

  /** Refresh items that became due without a fact. */
  refreshOverdue() {
    const now = this.model.clock.now();
    for (const { maintenance, due } of this.model.live()) {
      const isPast = Date.parse(maintenance.not_before) <= now;
      if (isPast && !due && !maintenance.started_at) this.dirty.add(maintenance.id);
    }
    this.start();
  }

  /** Request outdated data, with a pause between requests. */
  start() {
    const signal = this.signal();
    if (this.isBusy || !signal || this.model.link.state === "lost") return;
    if (!this.dirty.size && !(this.isFleetStale && this.wantsFleet)) return;
    this.isBusy = true;
    void this.fetchChanged(signal)
      .then(() => (this.failures = 0))
      .catch(() => (this.failures += 1)) // items that were not refreshed stay dirty
      .finally(() => setTimeout(() => this.resume(), this.pause()));
  }

  pause() {
    return this.failures ? retryDelay(this.failures - 1) : PAUSE;
  }

  resume() {
    this.isBusy = false;
    this.start();
  }

  /** @param {AbortSignal} signal */
  async fetchChanged(signal) {
    const ids = [...this.dirty].slice(0, MOST_IDS);
    for (const id of ids) this.dirty.delete(id);
    if (ids.length) {
      const query = ids.map((id) => `id=${encodeURIComponent(id)}`).join("&");
      try {
        this.apply(ids, await this.api.get(`/v1/overview?${query}`, signal));
      } catch (error) {
        for (const id of ids) this.dirty.add(id);
        throw error;
      }
    }
    if (this.isFleetStale && this.wantsFleet) await this.fetchFleet(signal);
  }

  /**
   * Store the response to a request for `ids`; ids missing from it no longer exist.
   * @param {string[]} ids
   * @param {Overview} overview
   */
  apply(ids, { items, position }) {
    const present = new Set(items.map((item) => item.maintenance.id));
    this.model.putItems(items, position);
    this.model.dropItems(ids.filter((id) => !present.has(id)));
  }

  /** Load the fleet, and keep it up to date from now on. */
  needFleet() {
    this.wantsFleet = true;
    if (this.model.fleet === null) this.refreshFleet();
  }

  /** Reload the fleet if any page needs it. */
  refreshFleet() {
    this.isFleetStale = true;
    this.start();
  }

  /** @param {AbortSignal} signal */
  async fetchFleet(signal) {
    this.isFleetStale = false;
    try {
      this.model.fleet = await this.api.get("/v1/fleet/map", signal);
    } catch (error) {
      this.isFleetStale = true;
      throw error;
    }
    this.model.changed();
  }
}

/**
 * Return how long to wait before the next attempt.
 * @param {number} failures before the last one
 * @returns {number} in ms
 */
export function retryDelay(failures) {
  return RETRY_DELAYS[Math.min(failures, RETRY_DELAYS.length - 1)] ?? 0;
}
