// What is asked for again, and which of two answers counts.

import assert from "node:assert/strict";
import { test } from "node:test";

import { following, page, Service, until } from "./a_service.js";

test("an answer that is overtaken by a newer one changes nothing", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = await following(t, service);
  const { promise, resolve } = later();
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

test("what becomes due by time alone is asked for again", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = await following(t, service);
  model.setClock("manual", "2026-11-16T12:15:00Z");
  const asked = () => service.asked.filter((each) => each.includes("id=A")).length;
  live.tick();
  await until(model, () => asked() === 1);
});

test("the clock and the faults that are told are known", async (t) => {
  const service = new Service();
  const { model } = await following(t, service);
  const clock = { clock: "manual", now: "2027-01-01T00:00:00Z" };
  service.tell("clock", clock);
  service.tell("faults", { items: [{ id: "f" }] });
  await until(model, () => model.faults?.length === 1);
  assert.equal(model.clock.now(), Date.parse(clock.now));
});

test("what the service shows no more is forgotten", async (t) => {
  const service = new Service();
  for (const id of ["A", "B"]) service.announce(id);
  const { model, live } = await following(t, service);
  service.items.delete("A");
  live.askAgain(["A", "B"]);
  await until(model, () => !model.items.has("A"));
  assert.ok(model.items.has("B"));
});

test("what has changed is not asked for while the service is away", async (t) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = await following(t, service);
  service.isAway = true;
  service.cut();
  await until(model, () => model.link.state === "lost");
  live.askAgain(["A"]);
  const asked = () => service.asked.filter((each) => each.includes("id=A")).length;
  assert.equal(asked(), 0);
  service.isAway = false;
  await until(model, () => asked() === 1);
});

test("what was not answered is asked for again", async (t) => {
  const service = new Service();
  const { model } = await following(t, service);
  service.status = 503;
  service.announce("A");
  await until(model, () => service.asked.some((each) => each.includes("id=A")));
  service.status = 200;
  await until(model, () => model.items.has("A"));
});

test("what is held is asked for again whenever something happens", async (t) => {
  const service = new Service();
  service.announce("A");
  service.items.get("A").due = true;
  const { model } = await following(t, service);
  service.announce("B");
  const both = (/** @type {string} */ each) => /id=A/.test(each) && /id=B/.test(each);
  await until(model, () => service.asked.some(both));
});

test("more than one page is read to its end", async (t) => {
  const service = new Service();
  for (let number = 0; number < 450; number += 1) service.announce(`M${number}`);
  const { model, live } = page(t, service);
  live.start();
  await until(model, () => model.items.size === 450);
  assert.equal(service.asked.filter((each) => each.includes("id=")).length, 0);
  live.stop();
});

test("the fleet is asked for when it changes, and after a break", async (t) => {
  const service = new Service();
  const { model, live } = await following(t, service);
  const asked = () => service.asked.filter((each) => each === "/v1/fleet/map").length;
  live.needFleet();
  await until(model, () => asked() === 1);
  service.journal.push({ position: 1, at: "", fact: "FleetChanged" });
  service.send();
  await until(model, () => asked() === 2);
  service.cut();
  await until(model, () => asked() === 3);
});

/** @returns {{promise: Promise<void>, resolve: () => void}} */
function later() {
  let resolve = () => {};
  /** @type {Promise<void>} */
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
