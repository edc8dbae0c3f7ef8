// How often and how long a service is asked that does not answer.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Api, Refused } from "../../../src/forewarn/server/portal/service/api.js";
import { page, Service, settled, until } from "./a_service.js";

test("whoever is in haste does not wait for the next attempt", async (context) => {
  const service = new Service();
  service.isAway = true;
  const { live } = page(context, service);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  live.start();
  await settled();
  assert.equal(service.asked.length, 1);
  live.start();
  await settled();
  assert.equal(service.asked.length, 2);
  live.stop();
});

test("questions that fail are asked again, less and less often", async (context) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(context, service);
  live.start();
  await until(model, () => model.link.state === "live");
  context.mock.timers.enable({ apis: ["setTimeout"] });
  service.status = 503;
  const asked = service.asked.length;
  live.needFleet();
  for (let spent = 0; spent < 3000; spent += 50) {
    context.mock.timers.tick(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(new Set(service.asked.slice(asked)), new Set(["/v1/fleet/map"]));
  assert.equal(service.asked.length - asked, 4); // at 0, 250, 750 and 1750 ms
  context.mock.timers.reset();
  live.stop();
});

test("a stream that is refused is asked for less and less often", async (context) => {
  const service = new Service();
  service.before = (path) => {
    if (path === "/v1/stream") throw new TypeError("refused");
  };
  const { live } = page(context, service);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  live.start();
  for (let spent = 0; spent < 3000; spent += 50) {
    for (let turn = 0; turn < 5; turn += 1) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    context.mock.timers.tick(50);
  }
  const streams = service.asked.filter((each) => each.startsWith("/v1/stream"));
  assert.equal(streams.length, 4);
  live.stop();
});

test("an answer that never comes is not waited for", async (context) => {
  const service = new Service();
  service.before = () => new Promise(() => {});
  const api = new Api(service.fetch, () => {});
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const answer = api.get("/v1/overview");
  context.mock.timers.tick(20_000);
  await assert.rejects(answer, (error) => {
    return error instanceof Refused && error.status === 0;
  });
});

test("a stream without a sign of life is given up", async (context) => {
  const service = new Service();
  const { model, live } = page(context, service);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  live.start();
  await settled();
  context.mock.timers.tick(30_000);
  service.tell("clock", { clock: "system", now: "2026-11-16T12:00:30Z" });
  await settled();
  context.mock.timers.tick(30_000);
  await settled();
  assert.equal(model.link.state, "live");
  context.mock.timers.tick(10_000);
  await settled();
  assert.equal(model.link.state, "lost");
  live.stop();
});

test("after each break it comes back as soon as after the first", async (context) => {
  const service = new Service();
  const { model, live } = page(context, service);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  live.start();
  await settled();
  for (let round = 0; round < 4; round += 1) {
    service.cut();
    await settled();
    context.mock.timers.tick(250);
    await settled();
    assert.equal(model.link.state, "live");
  }
  live.stop();
});

test("a page that is shown again is not live before it has caught up", async (t) => {
  const service = new Service();
  const { model, live } = page(t, service);
  live.start();
  await until(model, () => model.link.state === "live");
  live.stop();
  live.start();
  assert.equal(model.link.state, "connecting");
  await until(model, () => model.link.state === "live");
  live.stop();
});
