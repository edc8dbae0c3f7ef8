// Model: order, duplicates and limits of facts and items.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Model } from "../../../src/forewarn/server/portal/service/model.js";

/** @param {number} position */
const fact = (position) => /** @type {any} */ ({ position });

test("facts are kept newest first, up to a limit", () => {
  const model = new Model(
    () => {},
    () => 0,
  );
  const all = Array.from({ length: 600 }, (_, index) => fact(index + 1));
  model.addFacts(all.slice(0, 300));
  model.addFacts(all.slice(200));
  assert.deepEqual(model.facts, all.slice(100).reverse());
});

test("ended items are kept, up to a limit", () => {
  const model = new Model(
    () => {},
    () => 0,
  );
  const items = Array.from({ length: 2001 }, (_, index) => {
    const ended_at = new Date(index * 1000).toISOString();
    return /** @type {any} */ ({ maintenance: { id: `M${index}`, ended_at } });
  });
  model.putItems(items, 1);
  assert.equal(model.items.size, 2000);
  assert.ok(!model.items.has("M0"));
});

test("many changes cause one redraw", () => {
  /** @type {(() => void)[]} */
  const draws = [];
  const model = new Model(
    (draw) => draws.push(draw),
    () => 0,
  );
  for (const position of [1, 2, 3]) model.addFacts([fact(position)]);
  assert.equal(draws.length, 1);
});
