// Fake service with an in-memory journal, and a page connected to it.

import assert from "node:assert/strict";

import { Api } from "../../../src/forewarn/server/portal/service/api.js";
import { Live } from "../../../src/forewarn/server/portal/service/live.js";
import { Model } from "../../../src/forewarn/server/portal/service/model.js";

export const NOW = "2026-11-16T12:00:00Z";

/** Serves overview, journal and stream from memory. */
export class Service {
  constructor() {
    /** @type {any[]} */
    this.journal = [];
    /** @type {Map<string, any>} */
    this.items = new Map();
    /** @type {Set<{controller: any, sent: number}>} */
    this.streams = new Set();
    /** @type {string[]} paths of all requests */
    this.requests = [];
    this.isAway = false;
    this.status = 200;
    /** @type {(path: string) => Promise<void> | void} runs before a response is made */
    this.before = () => {};
    /** @type {(path: string) => Promise<void> | void} delays a response that is made */
    this.onItsWay = () => {};
  }

  /** @param {string} id */
  announce(id, phase = "SCHEDULED") {
    const position = this.journal.length + 1;
    this.journal.push({ position, at: NOW, fact: "Announced", maintenance: id });
    this.put(id, phase);
    this.send();
  }

  /** @param {string} id */
  end(id) {
    const position = this.journal.length + 1;
    this.journal.push({ position, at: NOW, fact: "Completed", maintenance: id });
    this.put(id, "COMPLETED");
    this.send();
  }

  /**
   * @param {string} id
   * @param {string} phase
   */
  put(id, phase) {
    const ended_at = phase === "COMPLETED" ? NOW : null;
    const not_before = "2026-11-16T12:15:00Z";
    const maintenance = { id, phase, ended_at, not_before, started_at: null };
    this.items.set(id, { maintenance, due: false, waits: [], can: [], seen: [] });
  }

  send() {
    for (const stream of this.streams) {
      for (const entry of this.journal.slice(stream.sent)) {
        const text = `id: ${entry.position}\nevent: ${entry.fact}\n`;
        const data = `data: ${JSON.stringify(entry)}\n\n`;
        stream.controller.enqueue(new TextEncoder().encode(text + data));
      }
      stream.sent = this.journal.length;
    }
  }

  /**
   * Send a message that is not a fact.
   * @param {string} event
   * @param {object} data
   */
  sendEvent(event, data) {
    const text = `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
    for (const { controller } of this.streams) {
      controller.enqueue(new TextEncoder().encode(text));
    }
  }

  cut() {
    for (const { controller } of this.streams) controller.error(new Error("cut"));
    this.streams.clear();
  }

  /**
   * @param {any} input
   * @param {RequestInit} [init]
   */
  fetch = async (input, init) => {
    this.requests.push(String(input));
    if (this.isAway) throw new TypeError("refused");
    if (this.status !== 200) {
      return Response.json({ detail: "no" }, { status: this.status });
    }
    const url = new URL(String(input), "http://service");
    await abortable(this.before(url.pathname), init?.signal);
    if (url.pathname === "/v1/stream") return this.stream(url, init?.signal);
    const json = JSON.stringify(this.respond(url));
    await abortable(this.onItsWay(String(input)), init?.signal);
    return new Response(json);
  };

  /** @param {URL} url */
  respond(url) {
    const query = url.searchParams;
    if (url.pathname === "/v1/journal") {
      const newest = [...this.journal].reverse();
      const after = Number(query.get("after") ?? 0);
      const oldest = this.journal.slice(after);
      const items = query.get("order") === "newest" ? newest : oldest;
      return { items: items.slice(0, Number(query.get("limit"))), next: null };
    }
    const all = [...this.items.values()];
    const ids = query.getAll("id");
    const items = ids.length
      ? all.filter(({ maintenance }) => ids.includes(maintenance.id))
      : all.filter(({ maintenance }) => !maintenance.ended_at);
    const from = Number(query.get("after") ?? 0);
    const to = from + Number(query.get("limit") ?? items.length);
    return {
      position: this.journal.length,
      clock: "system",
      now: NOW,
      items: items.slice(from, to),
      next: to < items.length ? to : null,
    };
  }

  /**
   * @param {URL} url
   * @param {AbortSignal | null} [signal]
   */
  stream(url, signal) {
    const sent = Number(url.searchParams.get("after"));
    const body = new ReadableStream({
      start: (controller) => {
        const stream = { controller, sent };
        this.streams.add(stream);
        signal?.addEventListener("abort", () => {
          if (this.streams.delete(stream)) controller.error(new Error("aborted"));
        });
      },
    });
    setTimeout(() => this.send());
    return new Response(body);
  }
}

/**
 * Await `delay`, but reject when the request is aborted, as fetch does.
 * @param {Promise<void> | void} delay
 * @param {AbortSignal | null} [signal]
 */
function abortable(delay, signal) {
  const aborted = new Promise((_, reject) => {
    signal?.addEventListener("abort", () => reject(signal.reason));
  });
  return Promise.race([delay, aborted]);
}

/**
 * Create a page that stops when the test ends.
 * @param {import("node:test").TestContext} test
 * @param {Service} service
 */
export function page(test, service) {
  const model = new Model(
    (draw) => setTimeout(draw),
    () => performance.now(),
  );
  let isSignedOut = false;
  const api = new Api(service.fetch, () => (isSignedOut = true));
  const live = new Live(api, model);
  test.after(() => live.stop());
  return { model, live, isSignedOut: () => isSignedOut };
}

/**
 * Create a page, and wait until it is connected.
 * @param {import("node:test").TestContext} test
 * @param {Service} service
 */
export async function connectedPage(test, service) {
  const created = page(test, service);
  created.live.start();
  await until(created.model, () => created.model.link.state === "live");
  return created;
}

/**
 * @param {Model} model
 * @param {() => boolean} isTrue
 */
export async function until(model, isTrue) {
  const limit = AbortSignal.timeout(60_000);
  while (!isTrue()) {
    assert.ok(!limit.aborted, "the condition did not become true in 5 s");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Run pending work until everything waits for a timer. */
export async function settled() {
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** @param {Model} model */
export const positions = (model) => model.facts.map(({ position }) => position);
