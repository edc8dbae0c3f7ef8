// Retries and timeouts when the service does not respond.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Api, RequestError } from "../../../src/forewarn/server/portal/service/api.js";
import { page, Service, settled, until } from "./fake_service.js";

test("starting again retries immediately", async (context) => {
  const service = new Service();
  service.isAway = true;
  const { live } = page(context, service);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  live.start();
  await settled();
  assert.equal(service.requests.length, 1);
  live.start();
  await settled();
  assert.equal(service.requests.length, 2);
  live.stop();
});

test("failed refreshes are retried with growing delays", async (context) => {
  const service = new Service();
  service.announce("A");
  const { model, live } = page(context, service);
  live.start();
  await until(model, () => model.link.state === "live");
  context.mock.timers.enable({ apis: ["setTimeout"] });
  service.status = 503;
  const before = service.requests.length;
  live.needFleet();
  for (let spent = 0; spent < 3000; spent += 50) {
    context.mock.timers.tick(50);
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.deepEqual(new Set(service.requests.slice(before)), new Set(["/v1/fleet/map"]));
  assert.equal(service.requests.length - before, 4); // at 0, 250, 750 and 1750 ms
  context.mock.timers.reset();
  live.stop();
});

test("a stream that is refused is retried with growing delays", async (context) => {
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
  const streams = service.requests.filter((path) => path.startsWith("/v1/stream"));
  assert.equal(streams.length, 4);
  live.stop();
});

test("a read without a response times out", async (context) => {
  const service = new Service();
  service.before = () => new Promise(() => {});
  const api = new Api(service.fetch, () => {});
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const request = api.get("/v1/overview");
  context.mock.timers.tick(20_000);
  await assert.rejects(request, (error) => {
    return error instanceof RequestError && error.status === 0;
  });
});

test("a stream without keep-alives is abandoned", async (context) => {
  const service = new Service();
  const { model, live } = page(context, service);
  context.mock.timers.enable({ apis: ["setTimeout"] });
  live.start();
  await settled();
  context.mock.timers.tick(30_000);
  service.sendEvent("clock", { clock: "system", now: "2026-11-16T12:00:30Z" });
  await settled();
  context.mock.timers.tick(30_000);
  await settled();
  assert.equal(model.link.state, "live");
  context.mock.timers.tick(10_000);
  await settled();
  assert.equal(model.link.state, "lost");
  live.stop();
});

test("the retry delay starts over after each break", async (context) => {
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

test("a page that becomes visible again is connecting until it has caught up", async (t) => {
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
