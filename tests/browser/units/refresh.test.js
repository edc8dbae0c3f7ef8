// Refresh of changed items: when they are requested, and which response counts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { connectedPage, page, Service, until } from "./fake_service.js";

test("a response that arrives after a newer one is ignored", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = await connectedPage(t, service);
  const { promise, resolve } = deferred();
  let isOnItsWay = false;
  service.onItsWay = (path) => {
    if (!path.includes("since=")) return;
    isOnItsWay = true;
    return promise;
  };
  const past = live.needPast(0);
  await until(model, () => isOnItsWay);
  service.end("A");
  await until(model, () => model.ended().length === 1);
  resolve();
  await past;
  assert.equal(model.items.get("A")?.maintenance.phase, "COMPLETED");
});

test("items that become due as time passes are refreshed", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = await connectedPage(t, service);
  model.setClock("manual", "2026-11-16T12:15:00Z");
  live.tick();
  await until(model, () => countOf(service, "id=A") === 1);
});

test("clock, faults, limits and problems arrive over the stream", async (t) => {
  const service = new Service();
  const { model } = await connectedPage(t, service);
  const clock = { clock: "manual", now: "2027-01-01T00:00:00Z" };
  service.sendEvent("clock", clock);
  service.sendEvent("faults", { items: [{ id: "f" }] });
  service.sendEvent("limits", { items: [{ text: "token a" }] });
  service.sendEvent("health", { items: [{ text: "writes fail", seconds: 3 }] });
  await until(model, () => model.health.length === 1);
  assert.equal(model.clock.now(), Date.parse(clock.now));
  assert.equal(model.faults?.length, 1);
  assert.equal(model.limits[0]?.text, "token a");
  assert.deepEqual(model.health, [{ text: "writes fail", seconds: 3 }]);
});

test("items that the service no longer returns are dropped", async (t) => {
  const service = new Service();
  for (const id of ["A", "B"]) service.announce(id);
  const { model, live } = await connectedPage(t, service);
  service.items.delete("A");
  live.refresh(["A", "B"]);
  await until(model, () => !model.items.has("A"));
  assert.ok(model.items.has("B"));
});

test("nothing is refreshed while the connection is lost", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = await connectedPage(t, service);
  service.isAway = true;
  service.cut();
  await until(model, () => model.link.state === "lost");
  live.refresh(["A"]);
  assert.equal(countOf(service, "id=A"), 0);
  service.isAway = false;
  await until(model, () => countOf(service, "id=A") === 1);
});

test("a failed refresh is repeated", async (t) => {
  const service = new Service();
  const { model } = await connectedPage(t, service);
  service.status = 503;
  service.announce("A");
  await until(model, () => countOf(service, "id=A") > 0);
  service.status = 200;
  await until(model, () => model.items.has("A"));
});

test("items that are due but blocked are refreshed with every fact", async (t) => {
  const service = new Service();
  service.announce("A");
  service.items.get("A").due = true;
  const { model } = await connectedPage(t, service);
  service.announce("B");
  const both = (/** @type {string} */ path) => /id=A/.test(path) && /id=B/.test(path);
  await until(model, () => service.requests.some(both));
});

test("all pages of the overview are loaded", async (t) => {
  const service = new Service();
  for (let number = 0; number < 450; number += 1) service.announce(`M${number}`);
  const { model, live } = page(t, service);
  live.start();
  await until(model, () => model.items.size === 450);
  assert.equal(countOf(service, "id="), 0);
  live.stop();
});

test("the fleet is reloaded when it changes, and after a break", async (t) => {
  const service = new Service();
  const { model, live } = await connectedPage(t, service);
  const loads = () => countOf(service, "/v1/fleet/map");
  live.needFleet();
  await until(model, () => loads() === 1);
  service.journal.push({ position: 1, at: "", fact: "FleetChanged" });
  service.send();
  await until(model, () => loads() === 2);
  service.cut();
  await until(model, () => loads() === 3);
});

/**
 * Count the requests whose path contains `part`.
 * @param {Service} service
 * @param {string} part
 */
function countOf(service, part) {
  return service.requests.filter((path) => path.includes(part)).length;
}

/** @returns {{promise: Promise<void>, resolve: () => void}} */
function deferred() {
  let resolve = () => {};
  /** @type {Promise<void>} */
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
