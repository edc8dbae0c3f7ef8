// Live connection: after any break, each fact counts once and none is missed.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connectedPage, NOW, page, positions, Service, until } from "./fake_service.js";

test("existing and new items are shown, and each fact once", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model } = await connectedPage(t, service);
  service.announce("B");
  await until(model, () => model.items.has("B"));
  assert.deepEqual(positions(model), [2, 1]);
  assert.equal(model.clock.reported, Date.parse(NOW));
  service.end("A");
  await until(model, () => model.ended().length === 1);
  assert.deepEqual(
    model.live().map(({ maintenance }) => maintenance.id),
    ["B"],
  );
});

test("after a break, no fact is missing or duplicated", async (t) => {
  const service = new Service();
  const { model } = await connectedPage(t, service);
  for (let round = 0; round < 3; round += 1) {
    service.announce(`before-${round}`);
    service.cut();
    service.announce(`away-${round}`);
    await until(model, () => model.facts.length === 2 * round + 2);
  }
  await until(model, () => model.items.size === 6);
  assert.deepEqual(positions(model), [6, 5, 4, 3, 2, 1]);
});

test("a lost connection is shown, and restored automatically", async (t) => {
  const service = new Service();
  const { model } = await connectedPage(t, service);
  service.isAway = true;
  service.cut();
  await until(model, () => model.link.state === "lost");
  service.isAway = false;
  service.announce("A");
  await until(model, () => model.link.state === "live" && model.items.has("A"));
});

test("items that ended during a break are no longer live", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model } = await connectedPage(t, service);
  service.cut();
  service.end("A");
  await until(model, () => model.live().length === 0 && model.ended().length === 1);
});

test("a different journal is detected", async (t) => {
  const service = new Service();
  service.announce("old-1");
  const { model } = await connectedPage(t, service);
  service.end("old-1");
  await until(model, () => model.ended().length === 1);
  service.journal = [];
  service.items.clear();
  for (const id of ["new-1", "new-2", "new-3"]) service.announce(id);
  service.cut();
  await until(model, () => model.facts.length === 3);
  assert.deepEqual([...model.items.keys()].sort(), ["new-1", "new-2", "new-3"]);
  assert.deepEqual(positions(model), [3, 2, 1]);
  assert.deepEqual(
    model.facts.map(({ maintenance }) => maintenance),
    ["new-3", "new-2", "new-1"],
  );
});

test("a shorter journal is detected", async (t) => {
  const service = new Service();
  for (const id of ["old-1", "old-2"]) service.announce(id);
  const { model } = await connectedPage(t, service);
  service.journal = [];
  service.items.clear();
  service.cut();
  await until(model, () => model.facts.length === 0 && model.link.state === "live");
  assert.equal(model.items.size, 0);
});

test("no requests are sent after the session has ended", async (t) => {
  const service = new Service();
  service.status = 401;
  const { model, live, isSignedOut } = page(t, service);
  live.start();
  await until(model, () => isSignedOut() && live.running === null);
  assert.deepEqual(service.requests, ["/v1/overview?limit=200"]);
});

test("a burst of facts causes only a few requests", async (t) => {
  const service = new Service();
  const { model } = await connectedPage(t, service);
  const before = service.requests.length;
  for (let number = 0; number < 450; number += 1) service.announce(`M${number}`);
  await until(model, () => model.items.size === 450);
  const number = service.requests.length - before;
  assert.ok(number <= 8, `${number}`);
  assert.equal(new Set(positions(model)).size, 450);
});

test("a fact between the first two requests is not missed", async (t) => {
  const service = new Service();
  const { model, live } = page(t, service);
  service.before = (path) => {
    if (path === "/v1/journal") service.announce("A");
  };
  live.start();
  await until(model, () => model.items.has("A"));
  assert.deepEqual(positions(model), [1]);
  live.stop();
});

test("items that vanished during a break without a fact are dropped", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model } = await connectedPage(t, service);
  service.items.clear();
  service.cut();
  await until(model, () => model.items.size === 0);
});

test("after a very long break, everything is reloaded", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model } = await connectedPage(t, service);
  service.cut();
  for (let position = 2; position <= 6000; position += 1) {
    service.journal.push({ position, at: NOW, fact: "Seen", maintenance: null });
  }
  await until(model, () => model.facts.length > 1 && model.link.state === "live");
  assert.equal(model.facts.length, 100);
  assert.equal(model.position, 6000);
});

test("a stream that ends is resumed after the last fact", async (t) => {
  const service = new Service();
  const { model } = await connectedPage(t, service);
  service.announce("A");
  await until(model, () => model.facts.length === 1);
  for (const { controller } of service.streams) controller.close();
  service.streams.clear();
  await until(model, () => service.streams.size === 1);
  const streams = service.requests.filter((path) => path.startsWith("/v1/stream"));
  assert.deepEqual(
    streams.map((path) => /after=(\d+)/.exec(path)?.[1]),
    ["0", "1"],
  );
});
