// Keeps the model true: asks for all once, then follows the journal.
//
// Rules of this file:
//
// 1. A fact is followed by its position. What comes twice counts once; after a break
//    the stream goes on behind the last position, so that nothing is missed.
// 2. What a fact changes is asked for again (`changes.js`); nothing is reckoned from
//    facts.
// 3. A journal that is not the one known (a service started anew without its store) is
//    found out after each break, and all is forgotten.

import { Refused } from "./api.js";
import { changesFleet, concerned } from "./model.js";
import { Changes, patience } from "./refresh.js";
import { readEvents } from "./stream.js";

/** @typedef {import("../types").Entry} Entry */
/** @typedef {import("../types").Overview} Overview */
/** @typedef {import("./stream.js").Sent} Sent */

const PAGE = 200;
const FACTS_AT_FIRST = 100;
const LONGEST_GAP = 5000; // facts that are caught up with one by one
const DEAF = 40_000; // ms without a sign of life, which comes every 15 s

/** Asks and follows, until it is stopped. */
export class Live {
  /**
   * @param {import("./api.js").Api} api
   * @param {import("./model.js").Model} model
   */
  constructor(api, model) {
    this.api = api;
    this.model = model;
    /** @type {AbortController | null} */
    this.running = null;
    /** @type {() => void} */
    this.wake = () => {};
    this.tries = 0; // to follow, in a row
    this.changes = new Changes(api, model, () => this.running?.signal ?? null);
  }

  /** Begin, or go on at once if it waits for the next attempt. */
  start() {
    this.wake();
    if (this.running) return;
    this.running = new AbortController();
    this.model.link = { state: "connecting" }; // again, perhaps
    this.model.changed();
    void this.run(this.running.signal);
  }

  /** End; what is known stays. */
  stop() {
    this.running?.abort();
    this.running = null;
    this.wake();
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    for (this.tries = 0; !signal.aborted; this.tries += 1) {
      try {
        await this.catchUp(signal);
        await this.follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof Refused && error.status === 401) return this.stop();
        if (!(error instanceof Refused)) console.warn(error);
      }
      if (!signal.aborted) await this.pause(patience(this.tries));
    }
  }

  /** @param {number} length */
  async pause(length) {
    this.model.link = { state: "lost", again: this.model.elapsed() + length };
    this.model.changed();
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, length);
      this.wake = () => {
        clearTimeout(timer);
        resolve(null);
      };
    });
    this.wake = () => {};
  }

  // --- all at once -------------------------------------------------------------

  /** @param {AbortSignal} signal */
  async catchUp(signal) {
    const { model, changes } = this;
    changes.renewFleet(); // nobody has told what became of it
    const first = await this.page("", signal);
    if (!(await this.isSameJournal(first.position, signal))) {
      model.forget();
      changes.renewFleet();
    }
    model.setClock(first.clock, first.now);
    const position = model.position < 0 ? first.position : model.position;
    await this.restOf(first, signal);
    if (model.position < 0) await this.firstFacts(signal);
    model.position = position;
  }

  /**
   * Whether the journal goes on where it was left, and not too far from there.
   * @param {number} position where it is now
   * @param {AbortSignal} signal
   */
  async isSameJournal(position, signal) {
    const { model } = this;
    if (model.position < 0) return true;
    const gap = position - model.position;
    if (gap < 0 || gap > LONGEST_GAP) return false;
    const last = model.facts[0];
    if (last === undefined) return true;
    const query = `after=${last.position - 1}&limit=1`;
    const { items } = await this.api.get(`/v1/journal?${query}`, signal);
    return JSON.stringify(items[0]) === JSON.stringify(last);
  }

  /** @param {AbortSignal} signal */
  async firstFacts(signal) {
    const query = `order=newest&limit=${FACTS_AT_FIRST}`;
    const { items } = await this.api.get(`/v1/journal?${query}`, signal);
    this.model.addFacts(items);
  }

  /**
   * @param {string} more
   * @param {AbortSignal} [signal]
   * @returns {Promise<Overview>}
   */
  page(more, signal) {
    return this.api.get(`/v1/overview?limit=${PAGE}${more}`, signal);
  }

  /**
   * Take in a page, and those behind it.
   * @param {Overview} first
   * @param {AbortSignal} [signal]
   * @param {string} more
   */
  async restOf(first, signal, more = "") {
    const { model } = this;
    const listed = new Set();
    for (let page = first; ; page = await this.page(behind(page, more), signal)) {
      model.putItems(page.items, page.position);
      for (const each of page.items) listed.add(each.maintenance.id);
      if (page.next === null) break;
    }
    const known = model.live().map((each) => each.maintenance.id);
    model.isLoaded = true;
    this.changes.ask(known.filter((id) => !listed.has(id)));
  }

  // --- bit by bit --------------------------------------------------------------

  /** @param {AbortSignal} signal */
  async follow(signal) {
    const { model } = this;
    const attempt = new AbortController();
    const end = () => attempt.abort();
    signal.addEventListener("abort", end);
    let timer = setTimeout(end, DEAF);
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(end, DEAF);
    };
    try {
      const query = `after=${model.position}&also=clock&also=faults`;
      const init = { signal: attempt.signal };
      const answer = await this.api.answered(`/v1/stream?${query}`, init);
      if (!answer.ok || !answer.body) throw await this.api.refusal(answer);
      this.tries = 0;
      model.link = { state: "live" };
      model.changed();
      this.changes.refresh();
      await readEvents(answer.body, heard, (sent) => this.take(sent));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  /** @param {Sent[]} several */
  take(several) {
    const { model } = this;
    /** @type {Entry[]} */
    const entries = [];
    for (const sent of several) {
      if (sent.event === "clock") this.takeClock(JSON.parse(sent.data));
      else if (sent.event === "faults") model.faults = JSON.parse(sent.data).items;
      else if (sent.data) entries.push(JSON.parse(sent.data));
    }
    if (entries.length) this.takeFacts(entries);
    for (const { id } of several) {
      if (id !== null) model.position = Math.max(model.position, Number(id));
    }
    model.changed();
  }

  /** @param {{clock: string, now: string}} told */
  takeClock(told) {
    this.model.setClock(told.clock, told.now);
    this.changes.askDue();
  }

  /** @param {Entry[]} entries */
  takeFacts(entries) {
    this.model.addFacts(entries);
    if (entries.some(changesFleet)) this.changes.renewFleet();
    this.changes.askDue(entries.flatMap(concerned));
  }

  /** Do what is to be done every second. */
  tick() {
    this.changes.askPast();
    this.model.tick();
  }

  // --- what pages need ---------------------------------------------------------

  /**
   * Ask again for what somebody has just changed.
   * @param {string[]} ids
   */
  askAgain(ids) {
    this.changes.ask(ids);
  }

  /** Ask for the fleet, and from now on again whenever it changes. */
  needFleet() {
    this.changes.needFleet();
  }

  /** The same, though it is known: who asks, and who falls silent, is no fact. */
  renewFleet() {
    this.changes.needFleet();
    this.changes.renewFleet();
  }

  /**
   * Ask for what has ended since a moment, once.
   * @param {number} since in ms of the service's clock
   */
  async needPast(since) {
    const { model } = this;
    if (model.pastSince !== null && model.pastSince <= since) return;
    const before = model.pastSince;
    model.pastSince = since;
    const more = `&since=${new Date(since).toISOString()}`;
    try {
      await this.restOf(await this.page(more), undefined, more);
    } catch (error) {
      model.pastSince = before; // so that it can be asked for again
      throw error;
    }
  }
}

/**
 * @param {Overview} page
 * @param {string} more
 */
function behind(page, more) {
  return `${more}&after=${encodeURIComponent(String(page.next))}`;
}
