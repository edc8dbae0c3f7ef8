// The page's data: filled by `live.js`, drawn by the pages; no DOM, no network.

import { ServiceClock } from "./clock.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").Entry} Entry */

const MOST_FACTS = 500;
const MOST_ENDED = 2000;

/** Data loaded from the service, and its subscribers. */
export class Model {
  /**
   * @param {(draw: () => void) => void} later runs `draw` soon, such as before the
   *   next frame
   * @param {() => number} elapsed real milliseconds
   */
  constructor(later, elapsed) {
    this.later = later;
    this.elapsed = elapsed;
    /** @type {import("../types").Session | null} */
    this.session = null;
    /** @type {Set<() => void>} */
    this.listeners = new Set();
    /** @type {Set<() => void>} */
    this.tickers = new Set();
    this.isWaiting = false;
    this.clock = new ServiceClock("system", 0, elapsed);
    this.position = -1; // position of the last fact; -1 before the first load
    this.isLoaded = false; // whether `items` contains all live items
    this.reset();
  }

  /** Drop all data except the session. */
  reset() {
    this.clock = new ServiceClock("system", 0, this.elapsed);
    /** @type {import("../types").Link} */
    this.link = { state: "connecting" };
    this.position = -1;
    /** @type {Entry[]} newest first, without duplicates */
    this.facts = [];
    /** @type {Map<string, Item>} by the id of the maintenance */
    this.items = new Map();
    /** @type {WeakMap<Item, number>} journal position of the response it came with */
    this.positions = new WeakMap();
    this.isLoaded = false;
    /** @type {import("../types").FleetMap | null} null until it is loaded */
    this.fleet = null;
    /** @type {import("../types").Fault[] | null} null until they are reported */
    this.faults = null;
    /** @type {import("../types").LimitedCaller[]} */
    this.limits = [];
    /** @type {import("../types").Problem[]} */
    this.health = [];
    /** @type {number | null} how far back ended maintenance is loaded, in ms */
    this.pastSince = null;
    this.changed();
  }

  // --- subscribers -------------------------------------------------------------

  /**
   * @param {() => void} listener
   * @returns {() => void} unsubscribes it
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * @param {() => void} ticker called every second
   * @returns {() => void} unsubscribes it
   */
  onTick(ticker) {
    this.tickers.add(ticker);
    return () => this.tickers.delete(ticker);
  }

  /** Redraw all countdowns. */
  tick() {
    for (const ticker of this.tickers) ticker();
  }

  /** Schedule one redraw, regardless of how many changes occur before it. */
  changed() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.later(() => {
      this.isWaiting = false;
      for (const listener of [...this.listeners]) listener();
    });
  }

  // --- updates -----------------------------------------------------------------

  /**
   * @param {string} name
   * @param {string} now
   */
  setClock(name, now) {
    this.clock = new ServiceClock(name, Date.parse(now), this.elapsed);
    this.changed();
    this.tick();
  }

  /**
   * Add facts; known facts are ignored.
   * @param {Entry[]} entries in any order
   */
  addFacts(entries) {
    const known = new Set(this.facts.map(({ position }) => position));
    const fresh = entries.filter(({ position }) => !known.has(position));
    this.facts = [...fresh, ...this.facts]
      .sort((a, b) => b.position - a.position)
      .slice(0, MOST_FACTS);
    this.changed();
  }

  /**
   * Add or replace items, except where a newer version is known: responses may
   * overtake each other.
   * @param {Item[]} items
   * @param {number} position journal position of the response
   */
  putItems(items, position) {
    for (const item of items) {
      const known = this.items.get(item.maintenance.id);
      if (known && (this.positions.get(known) ?? 0) > position) continue;
      this.items.set(item.maintenance.id, item);
      this.positions.set(item, position);
    }
    this.dropOldest();
    this.changed();
  }

  /**
   * Drop items that the service no longer returns.
   * @param {string[]} ids
   */
  dropItems(ids) {
    for (const id of ids) this.items.delete(id);
    this.changed();
  }

  dropOldest() {
    const oldest = this.ended().slice(MOST_ENDED);
    for (const { maintenance } of oldest) this.items.delete(maintenance.id);
  }

  // --- queries -----------------------------------------------------------------

  /** @returns {Item[]} what is announced or in progress */
  live() {
    return [...this.items.values()].filter((item) => !item.maintenance.ended_at);
  }

  /** @returns {Item[]} what has ended, latest first */
  ended() {
    return [...this.items.values()]
      .filter((item) => item.maintenance.ended_at)
      .sort((a, b) =>
        (b.maintenance.ended_at ?? "") < (a.maintenance.ended_at ?? "") ? -1 : 1,
      );
  }

  /**
   * Whether the viewer's role permits an action.
   * @param {string} action
   */
  may(action) {
    return this.session?.may.includes(action) ?? false;
  }
}

/**
 * List the ids of the maintenance or events that a fact is about.
 * @param {Entry} entry
 * @returns {string[]}
 */
export function idsIn(entry) {
  const sights = /** @type {{event: string}[]} */ (entry.sights ?? []);
  const ids = sights.map(({ event }) => event);
  return typeof entry.maintenance === "string" ? [entry.maintenance, ...ids] : ids;
}

/**
 * Whether a fact changes the fleet.
 * @param {Entry} entry
 */
export function changesFleet(entry) {
  return entry.fact === "FleetChanged" || entry.fact === "Enabled";
}
