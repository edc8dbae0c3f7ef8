// Requests that fail.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Api } from "../../../src/forewarn/server/portal/service/api.js";

/** @param {string} body */
function apiWith(body) {
  return new Api(
    async () => new Response(body),
    () => {},
  );
}

test("a truncated response counts as no response", async () => {
  const request = apiWith('{"maintenances": [').post("/v1/maintenances");
  await assert.rejects(request, { status: 0, message: /does not answer/ });
});

test("a token with characters that cannot be sent is rejected", async () => {
  await assert.rejects(apiWith("{}").signIn("€"), { message: /is no token/ });
});
