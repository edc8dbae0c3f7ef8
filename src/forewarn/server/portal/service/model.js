// What the page knows: filled by `live.js`, drawn by the pages; no DOM, no network.
// Which maintenances a fact concerns, so that they are asked for again.

import { ServiceClock } from "./clock.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").Entry} Entry */

const MOST_FACTS = 500;
const MOST_ENDED = 2000;

/** All that is known of the service, and who wants to hear of changes. */
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
    this.position = -1; // of the last fact that has come, -1: none was asked for
    this.isLoaded = false; // whether `items` holds all that is live
    this.forget();
  }

  /** Know nothing of any fleet; who is signed in stays. */
  forget() {
    this.clock = new ServiceClock("system", 0, this.elapsed);
    /** @type {import("../types").Link} */
    this.link = { state: "connecting" };
    this.position = -1;
    /** @type {Entry[]} the newest first, each once */
    this.facts = [];
    /** @type {Map<string, Item>} by the id of the maintenance */
    this.items = new Map();
    /** @type {WeakMap<Item, number>} how far the journal was when each was told */
    this.toldAt = new WeakMap();
    this.isLoaded = false;
    /** @type {import("../types").FleetMap | null} null: not asked for yet */
    this.fleet = null;
    /** @type {import("../types").Fault[] | null} null: not told yet */
    this.faults = null;
    /** @type {number | null} since when what has ended is known, in ms */
    this.pastSince = null;
    this.changed();
  }

  // --- who listens -------------------------------------------------------------

  /**
   * @param {() => void} listener
   * @returns {() => void} ends it
   */
  subscribe(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /**
   * @param {() => void} ticker called every second
   * @returns {() => void} ends it
   */
  onTick(ticker) {
    this.tickers.add(ticker);
    return () => this.tickers.delete(ticker);
  }

  /** Let all countdowns be drawn again. */
  tick() {
    for (const each of this.tickers) each();
  }

  /** Let all be drawn again: once, whatever else changes before that. */
  changed() {
    if (this.isWaiting) return;
    this.isWaiting = true;
    this.later(() => {
      this.isWaiting = false;
      for (const each of [...this.listeners]) each();
    });
  }

  // --- what is heard -----------------------------------------------------------

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
   * Take facts in, each once, whatever comes again.
   * @param {Entry[]} entries in any order
   */
  addFacts(entries) {
    const known = new Set(this.facts.map((each) => each.position));
    const fresh = entries.filter((each) => !known.has(each.position));
    this.facts = [...fresh, ...this.facts]
      .sort((one, other) => other.position - one.position)
      .slice(0, MOST_FACTS);
    this.changed();
  }

  /**
   * Take items in, but for those of which something newer is known: answers overtake
   * each other.
   * @param {Item[]} items
   * @param {number} position how far the journal was when they were told
   */
  putItems(items, position) {
    for (const each of items) {
      const known = this.items.get(each.maintenance.id);
      if (known && (this.toldAt.get(known) ?? 0) > position) continue;
      this.items.set(each.maintenance.id, each);
      this.toldAt.set(each, position);
    }
    this.forgetOldest();
    this.changed();
  }

  /**
   * Forget what the service does not show any more.
   * @param {string[]} ids
   */
  dropItems(ids) {
    for (const id of ids) this.items.delete(id);
    this.changed();
  }

  forgetOldest() {
    const ended = this.ended();
    for (const each of ended.slice(MOST_ENDED)) this.items.delete(each.maintenance.id);
  }

  // --- what is asked -----------------------------------------------------------

  /** @returns {Item[]} what is announced or under way */
  live() {
    return [...this.items.values()].filter((each) => !each.maintenance.ended_at);
  }

  /** @returns {Item[]} what is over, the latest first */
  ended() {
    return [...this.items.values()]
      .filter((each) => each.maintenance.ended_at)
      .sort((one, other) =>
        (other.maintenance.ended_at ?? "") < (one.maintenance.ended_at ?? "") ? -1 : 1,
      );
  }

  /**
   * Whether the viewer may do this at all.
   * @param {string} act
   */
  may(act) {
    return this.session?.may.includes(act) ?? false;
  }
}

/**
 * Find the ids of the maintenances or events that a fact tells of.
 * @param {Entry} entry
 * @returns {string[]}
 */
export function concerned(entry) {
  const sights = /** @type {{event: string}[]} */ (entry.sights ?? []);
  const ids = sights.map((each) => each.event);
  return typeof entry.maintenance === "string" ? [entry.maintenance, ...ids] : ids;
}

/**
 * Whether the fleet is not as it was.
 * @param {Entry} entry
 */
export function changesFleet(entry) {
  return entry.fact === "FleetChanged" || entry.fact === "ListeningBegan";
}
