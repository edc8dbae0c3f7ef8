// Asks again for what has changed: by a fact, by time, or by the viewer himself.

/** @typedef {import("../types").Overview} Overview */

const MOST_IDS = 100; // that one question may have
const BREATH = 150; // ms between questions
const PATIENCE = [250, 500, 1000, 2000, 4000]; // ms before the next attempt

/** What is to be asked for again, and the asking. */
export class Changes {
  /**
   * @param {import("./api.js").Api} api
   * @param {import("./model.js").Model} model
   * @param {() => AbortSignal | null} signal null: nobody follows the service now
   */
  constructor(api, model, signal) {
    this.api = api;
    this.model = model;
    this.signal = signal;
    /** @type {Set<string>} ids of maintenances or events */
    this.dirty = new Set();
    this.isAsking = false;
    this.failures = 0; // in a row
    this.wantsFleet = false;
    this.isFleetStale = false;
  }

  /**
   * Ask again for these, soon.
   * @param {string[]} ids
   */
  ask(ids) {
    for (const id of ids) this.dirty.add(id);
    this.refresh();
  }

  /**
   * Ask again for these, and for what is due: what holds it may have changed without a
   * fact of it.
   * @param {string[]} ids
   */
  askDue(ids = []) {
    for (const id of ids) this.dirty.add(id);
    for (const { maintenance, due } of this.model.live()) {
      if (due && !maintenance.started_at) this.dirty.add(maintenance.id);
    }
    this.askPast();
  }

  /** Ask again for what became due by time alone, without a fact. */
  askPast() {
    const now = this.model.clock.now();
    for (const { maintenance, due } of this.model.live()) {
      const isPast = Date.parse(maintenance.not_before) <= now;
      if (isPast && !due && !maintenance.started_at) this.dirty.add(maintenance.id);
    }
    this.refresh();
  }

  /** Ask for what has changed, at most so often that the service has a breath. */
  refresh() {
    const signal = this.signal();
    if (this.isAsking || !signal || this.model.link.state === "lost") return;
    if (!this.dirty.size && !(this.isFleetStale && this.wantsFleet)) return;
    this.isAsking = true;
    void this.askChanged(signal)
      .then(() => (this.failures = 0))
      .catch(() => (this.failures += 1)) // what is missing is asked for again
      .finally(() => setTimeout(() => this.goOn(), this.breath()));
  }

  breath() {
    return this.failures ? patience(this.failures - 1) : BREATH;
  }

  goOn() {
    this.isAsking = false;
    this.refresh();
  }

  /** @param {AbortSignal} signal */
  async askChanged(signal) {
    const ids = [...this.dirty].slice(0, MOST_IDS);
    for (const id of ids) this.dirty.delete(id);
    if (ids.length) {
      const query = ids.map((id) => `id=${encodeURIComponent(id)}`).join("&");
      try {
        this.takeAnswer(ids, await this.api.get(`/v1/overview?${query}`, signal));
      } catch (error) {
        for (const id of ids) this.dirty.add(id);
        throw error;
      }
    }
    if (this.isFleetStale && this.wantsFleet) await this.askFleet(signal);
  }

  /**
   * Take in what was asked for by `ids`; what is not shown is not there any more.
   * @param {string[]} ids
   * @param {Overview} answer
   */
  takeAnswer(ids, { items, position }) {
    const shown = new Set(items.map((each) => each.maintenance.id));
    this.model.putItems(items, position);
    this.model.dropItems(ids.filter((id) => !shown.has(id)));
  }

  /** Ask for the fleet, and from now on again whenever it changes. */
  needFleet() {
    this.wantsFleet = true;
    if (this.model.fleet === null) this.renewFleet();
  }

  /** Ask for the fleet again, if any page needs it. */
  renewFleet() {
    this.isFleetStale = true;
    this.refresh();
  }

  /** @param {AbortSignal} signal */
  async askFleet(signal) {
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
 * Say how long to wait before the next attempt.
 * @param {number} tries that have failed before the last one
 * @returns {number} in ms
 */
export function patience(tries) {
  return PATIENCE[Math.min(tries, PATIENCE.length - 1)] ?? 0;
}
