// What is asked for again, and which of two answers counts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { page, Service, until } from "./a_service.js";

test("an answer that is overtaken by a newer one changes nothing", async () => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  const { promise, resolve } = later();
  service.onItsWay = (path) => (path.includes("since=") ? promise : undefined);
  const past = live.needPast(0);
  await until(model, () => service.asked.some((each) => each.includes("since=")));
  service.end("A");
  await until(model, () => model.ended().length === 1);
  resolve();
  await past;
  assert.equal(model.items.get("A")?.maintenance.phase, "COMPLETED");
  live.stop();
});

test("what becomes due by time alone is asked for again", async () => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  model.setClock("manual", "2026-11-16T12:15:00Z");
  const asked = () => service.asked.filter((each) => each.includes("id=A")).length;
  live.tick();
  await until(model, () => asked() === 1);
  live.stop();
});

test("the clock and the faults that are told are known", async () => {
  const service = new Service();
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  const clock = { clock: "manual", now: "2027-01-01T00:00:00Z" };
  service.tell("clock", clock);
  service.tell("faults", { items: [{ id: "f" }] });
  await until(model, () => model.faults.length === 1);
  assert.equal(model.clock.now(), Date.parse(clock.now));
  live.stop();
});

test("what the service shows no more is forgotten", async () => {
  const service = new Service();
  for (const id of ["A", "B"]) service.announce(id);
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.items.delete("A");
  live.askAgain(["A", "B"]);
  await until(model, () => !model.items.has("A"));
  assert.ok(model.items.has("B"));
  live.stop();
});

test("what has changed is not asked for while the service is away", async () => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(service);
  live.start();
  await until(model, () => model.link.state === "live");
  service.isAway = true;
  service.cut();
  await until(model, () => model.link.state === "lost");
  live.askAgain(["A"]);
  const asked = () => service.asked.filter((each) => each.includes("id=A")).length;
  assert.equal(asked(), 0);
  service.isAway = false;
  await until(model, () => asked() === 1);
  live.stop();
});

/** @returns {{promise: Promise<void>, resolve: () => void}} */
function later() {
  let resolve = () => {};
  /** @type {Promise<void>} */
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
