// Tests of questions whose answers do not come, or not whole.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Api } from "../../../src/forewarn/server/portal/service/api.js";

/** @param {string} body */
function answering(body) {
  return new Api(
    async () => new Response(body),
    () => {},
  );
}

test("an answer that breaks off in its middle counts as none", async () => {
  const asking = answering('{"maintenances": [').post("/v1/maintenances");
  await assert.rejects(asking, { status: 0, message: /does not answer/ });
});

test("a token that cannot be sent is called so", async () => {
  await assert.rejects(answering("{}").signIn("€"), { message: /is no token/ });
});
