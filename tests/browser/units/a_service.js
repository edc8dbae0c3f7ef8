// A service that answers from memory, and a page that follows it.

import assert from "node:assert/strict";

import { Api } from "../../../src/forewarn/server/portal/service/api.js";
import { Live } from "../../../src/forewarn/server/portal/service/live.js";
import { Model } from "../../../src/forewarn/server/portal/service/model.js";

export const NOW = "2026-11-16T12:00:00Z";

/** A service that answers from memory; its streams end when they are told to. */
export class Service {
  constructor() {
    /** @type {any[]} */
    this.journal = [];
    /** @type {Map<string, any>} */
    this.items = new Map();
    /** @type {Set<{controller: any, sent: number}>} */
    this.streams = new Set();
    /** @type {string[]} what was asked */
    this.asked = [];
    this.isAway = false;
    this.status = 200;
    /** @type {(path: string) => Promise<void> | void} runs before each answer */
    this.before = () => {};
    /** @type {(path: string) => Promise<void> | void} keeps an answer that is made */
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
   * Tell something beside the facts.
   * @param {string} event
   * @param {object} data
   */
  tell(event, data) {
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
    this.asked.push(String(input));
    if (this.isAway) throw new TypeError("refused");
    if (this.status !== 200) {
      return Response.json({ detail: "no" }, { status: this.status });
    }
    const url = new URL(String(input), "http://service");
    await cutShort(this.before(url.pathname), init?.signal);
    if (url.pathname === "/v1/stream") return this.stream(url, init?.signal);
    const answer = JSON.stringify(this.answer(url));
    await cutShort(this.onItsWay(String(input)), init?.signal);
    return new Response(answer);
  };

  /** @param {URL} url */
  answer(url) {
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
      ? all.filter((each) => ids.includes(each.maintenance.id))
      : all.filter((each) => !each.maintenance.ended_at);
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
 * Wait as fetch does: until it is aborted.
 * @param {Promise<void> | void} answer
 * @param {AbortSignal | null} [signal]
 */
function cutShort(answer, signal) {
  const aborted = new Promise((_, failed) => {
    signal?.addEventListener("abort", () => failed(signal.reason));
  });
  return Promise.race([answer, aborted]);
}

/**
 * Open a page; it ends with the test, however that ends.
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
 * Open a page that follows the service.
 * @param {import("node:test").TestContext} test
 * @param {Service} service
 */
export async function following(test, service) {
  const opened = page(test, service);
  opened.live.start();
  await until(opened.model, () => opened.model.link.state === "live");
  return opened;
}

/**
 * @param {Model} model
 * @param {() => boolean} isTrue
 */
export async function until(model, isTrue) {
  const isLate = AbortSignal.timeout(5000);
  while (!isTrue()) {
    assert.ok(!isLate.aborted, "nothing of the kind came about");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Let all that is under way come to where it waits for a timer. */
export async function settled() {
  for (let turn = 0; turn < 20; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** @param {Model} model */
export const positions = (model) => model.facts.map((each) => each.position);
