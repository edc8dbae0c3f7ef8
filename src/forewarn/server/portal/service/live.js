// Live connection to the service: loads everything once, then follows the journal.
//
// Rules of this file:
//
// 1. Facts are identified by their position. A fact that arrives twice counts once.
//    After a break, the stream resumes after the last position, so no fact is missed.
// 2. Data that a fact changes is requested again (`refresh.js`); nothing is computed
//    from facts.
// 3. After each break, the journal is compared with the known one. If it is a different
//    journal (the service was restarted without its store), all data is dropped.

import { RequestError } from "./api.js";
import { changesFleet, idsIn } from "./model.js";
import { Refresher, retryDelay } from "./refresh.js";
import { readEvents } from "./stream.js";

/** @typedef {import("../types").Entry} Entry */
/** @typedef {import("../types").Overview} Overview */
/** @typedef {import("./stream.js").StreamMessage} StreamMessage */

const PAGE_SIZE = 200;
const FIRST_FACTS = 100;
const LONGEST_GAP = 5000; // facts; after a longer gap, everything is reloaded
const SILENCE_TIMEOUT = 40_000; // ms; keep-alives arrive every 15 s

/** Keeps the model up to date until it is stopped. */
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
    this.attempts = 0; // consecutive attempts to open the stream
    this.refresher = new Refresher(api, model, () => this.running?.signal ?? null);
  }

  /** Connect, or retry immediately if it is waiting for the next attempt. */
  start() {
    this.wake();
    if (this.running) return;
    this.running = new AbortController();
    this.model.link = { state: "connecting" };
    this.model.changed();
    void this.run(this.running.signal);
  }

  /** Disconnect; the model keeps its data. */
  stop() {
    this.running?.abort();
    this.running = null;
    this.wake();
  }

  /** @param {AbortSignal} signal */
  async run(signal) {
    for (this.attempts = 0; !signal.aborted; this.attempts += 1) {
      let why = null;
      try {
        await this.catchUp(signal);
        await this.follow(signal);
      } catch (error) {
        if (signal.aborted) return;
        if (error instanceof RequestError && error.status === 401) return this.stop();
        if (error instanceof RequestError && error.status === 429) why = error.message;
        if (!(error instanceof RequestError)) console.warn(error);
      }
      if (!signal.aborted) await this.pause(retryDelay(this.attempts), why);
    }
  }

  /**
   * @param {number} length in ms
   * @param {string | null} why the service's reason, if it refused the connection
   */
  async pause(length, why) {
    this.model.link = { state: "lost", again: this.model.elapsed() + length, why };
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

  // --- initial load ------------------------------------------------------------

  /** @param {AbortSignal} signal */
  async catchUp(signal) {
    const { model, refresher } = this;
    refresher.refreshFleet(); // it may have changed during the break
    const first = await this.fetchPage("", signal);
    if (!(await this.isSameJournal(first.position, signal))) {
      model.reset();
      refresher.refreshFleet();
    }
    model.setClock(first.clock, first.now);
    const position = model.position < 0 ? first.position : model.position;
    await this.loadPages(first, signal);
    if (model.position < 0) await this.loadFirstFacts(signal);
    model.position = position;
  }

  /**
   * Whether the journal continues the known one, and the gap is not too long.
   * @param {number} position its current position
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
  async loadFirstFacts(signal) {
    const query = `order=newest&limit=${FIRST_FACTS}`;
    const { items } = await this.api.get(`/v1/journal?${query}`, signal);
    this.model.addFacts(items);
  }

  /**
   * @param {string} query further parameters
   * @param {AbortSignal} [signal]
   * @returns {Promise<Overview>}
   */
  fetchPage(query, signal) {
    return this.api.get(`/v1/overview?limit=${PAGE_SIZE}${query}`, signal);
  }

  /**
   * Store a page of the overview and all pages after it.
   * @param {Overview} first
   * @param {AbortSignal} [signal]
   * @param {string} query
   */
  async loadPages(first, signal, query = "") {
    const { model } = this;
    const listed = new Set();
    let page = first;
    for (;;) {
      model.putItems(page.items, page.position);
      for (const { maintenance } of page.items) listed.add(maintenance.id);
      if (page.next === null) break;
      page = await this.fetchPage(nextQuery(page, query), signal);
    }
    const known = model.live().map(({ maintenance }) => maintenance.id);
    model.isLoaded = true;
    this.refresher.refresh(known.filter((id) => !listed.has(id)));
  }

  // --- stream ------------------------------------------------------------------

  /** @param {AbortSignal} signal */
  async follow(signal) {
    const { model } = this;
    const attempt = new AbortController();
    const end = () => attempt.abort();
    signal.addEventListener("abort", end);
    let timer = setTimeout(end, SILENCE_TIMEOUT);
    const restartTimer = () => {
      clearTimeout(timer);
      timer = setTimeout(end, SILENCE_TIMEOUT);
    };
    try {
      const also = "also=clock&also=health&also=limits&also=faults";
      const query = `after=${model.position}&${also}`;
      const init = { signal: attempt.signal };
      const response = await this.api.fetchResponse(`/v1/stream?${query}`, init);
      if (!response.ok || !response.body) throw await this.api.errorOf(response);
      this.attempts = 0;
      model.link = { state: "live" };
      model.changed();
      this.refresher.start();
      await readEvents(response.body, restartTimer, (batch) => this.apply(batch));
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
    }
  }

  /** @param {StreamMessage[]} messages */
  apply(messages) {
    const { model } = this;
    /** @type {Entry[]} */
    const entries = [];
    for (const { event, data } of messages) {
      if (event === "clock") this.applyClock(JSON.parse(data));
      else if (event === "faults") model.faults = JSON.parse(data).items;
      else if (event === "limits") model.limits = JSON.parse(data).items;
      else if (event === "health") model.health = JSON.parse(data).items;
      else if (data) entries.push(JSON.parse(data));
    }
    if (entries.length) this.applyFacts(entries);
    for (const { id } of messages) {
      if (id !== null) model.position = Math.max(model.position, Number(id));
    }
    model.changed();
  }

  /** @param {{clock: string, now: string}} reading */
  applyClock({ clock, now }) {
    this.model.setClock(clock, now);
    this.refresher.refreshDue();
  }

  /** @param {Entry[]} entries */
  applyFacts(entries) {
    this.model.addFacts(entries);
    if (entries.some(changesFleet)) this.refresher.refreshFleet();
    this.refresher.refreshDue(entries.flatMap(idsIn));
  }

  /** Called every second. */
  tick() {
    this.refresher.refreshOverdue();
    this.model.tick();
  }

  // --- requests of the pages ---------------------------------------------------

  /**
   * Refresh what the user has just changed.
   * @param {string[]} ids
   */
  refresh(ids) {
    this.refresher.refresh(ids);
  }

  /** Load the fleet, and keep it up to date from now on. */
  needFleet() {
    this.refresher.needFleet();
  }

  /** Reload the fleet: the time of each VM's last request is not in the journal. */
  refreshFleet() {
    this.refresher.needFleet();
    this.refresher.refreshFleet();
  }

  /**
   * Load maintenance that has ended since a given time, unless it is already loaded.
   * @param {number} since in ms of the service's clock
   */
  async needPast(since) {
    const { model } = this;
    if (model.pastSince !== null && model.pastSince <= since) return;
    const before = model.pastSince;
    model.pastSince = since;
    const query = `&since=${new Date(since).toISOString()}`;
    try {
      await this.loadPages(await this.fetchPage(query), undefined, query);
    } catch (error) {
      model.pastSince = before; // so that it can be requested again
      throw error;
    }
  }
}

/**
 * @param {Overview} page
 * @param {string} query
 */
function nextQuery(page, query) {
  return `${query}&after=${encodeURIComponent(String(page.next))}`;
}
