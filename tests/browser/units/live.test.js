// Following the journal: whatever breaks, each fact counts once and none is missed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Api } from "../../../src/forewarn/server/portal/service/api.js";
import { Live } from "../../../src/forewarn/server/portal/service/live.js";
import { Model } from "../../../src/forewarn/server/portal/service/model.js";

const NOW = "2026-11-16T12:00:00Z";

/** A service that answers from memory; its streams end when they are told to. */
class Service {
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
    if (url.pathname === "/v1/stream") return this.stream(url, init?.signal);
    return Response.json(this.answer(url));
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
    return {
      position: this.journal.length,
      clock: "system",
      now: NOW,
      items,
      next: null,
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

/** @param {Service} service */
function page(service) {
  const model = new Model(
    (draw) => setTimeout(draw),
    () => performance.now(),
  );
  let isSignedOut = false;
  const api = new Api(service.fetch, () => (isSignedOut = true));
  const live = new Live(api, model);
  return { model, live, isSignedOut: () => isSignedOut };
}

/**
 * @param {Model} model
 * @param {() => boolean} isTrue
 */
async function until(model, isTrue) {
  const isLate = AbortSignal.timeout(5000);
  while (!isTrue()) {
    assert.ok(!isLate.aborted, "nothing of the kind came about");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** @param {Model} model */
const positions = (model) => model.facts.map((each) => each.position);

test("what there is is shown, and what comes after it, each once", async () => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.announce("B");
  await until(model, () => model.items.has("B"));
  assert.deepEqual(positions(model), [2, 1]);
  service.end("A");
  await until(model, () => model.ended().length === 1);
  assert.deepEqual(
    model.live().map((each) => each.maintenance.id),
    ["B"],
  );
  live.stop();
});

test("after a break nothing is missing and nothing is doubled", async () => {
  const service = new Service();
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  for (let round = 0; round < 3; round += 1) {
    service.announce(`before-${round}`);
    service.cut();
    service.announce(`away-${round}`);
    await until(model, () => model.facts.length === 2 * round + 2);
  }
  await until(model, () => model.items.size === 6);
  assert.deepEqual(positions(model), [6, 5, 4, 3, 2, 1]);
  live.stop();
});

test("a lost connection is shown, and mended by itself", async () => {
  const service = new Service();
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.isAway = true;
  service.cut();
  await until(model, () => model.link.state === "lost");
  service.isAway = false;
  service.announce("A");
  await until(model, () => model.link.state === "live" && model.items.has("A"));
  live.stop();
});

test("what ended during a break is not live any more", async () => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.cut();
  service.end("A");
  await until(model, () => model.live().length === 0 && model.ended().length === 1);
  live.stop();
});

test("another journal under the same name is found out", async () => {
  const service = new Service();
  service.announce("old-1");
  service.announce("old-2");
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.journal = [];
  service.items.clear();
  for (const id of ["new-1", "new-2", "new-3"]) service.announce(id);
  service.cut();
  await until(model, () => model.facts.length === 3);
  assert.deepEqual([...model.items.keys()].sort(), ["new-1", "new-2", "new-3"]);
  assert.deepEqual(positions(model), [3, 2, 1]);
  live.stop();
});

test("a shorter journal under the same name is found out", async () => {
  const service = new Service();
  for (const id of ["old-1", "old-2"]) service.announce(id);
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.journal = [];
  service.items.clear();
  service.cut();
  await until(model, () => model.facts.length === 0 && model.link.state === "live");
  assert.equal(model.items.size, 0);
  live.stop();
});

test("when the session is over, nothing is asked any more", async () => {
  const service = new Service();
  service.status = 401;
  const { model, live, isSignedOut } = page(service);
  live.start();
  await until(model, () => isSignedOut() && live.running === null);
  assert.deepEqual(service.asked, ["/v1/overview?limit=200"]);
});

test("a burst is asked for in few questions", async () => {
  const service = new Service();
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  const asked = service.asked.length;
  for (let number = 0; number < 450; number += 1) service.announce(`M${number}`);
  await until(model, () => model.items.size === 450);
  assert.ok(service.asked.length - asked <= 8, `${service.asked.length - asked}`);
  assert.equal(new Set(positions(model)).size, 450);
  live.stop();
});
