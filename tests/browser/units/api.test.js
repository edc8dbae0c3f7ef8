// Requests that fail, and the key that requests carry.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Api, SessionKey } from "../../../src/forewarn/server/portal/service/api.js";

const KEY = "forewarn-session-key";

/** @param {string} body */
function apiWith(body) {
  return new Api(
    async () => new Response(body),
    () => {},
  );
}

test("a truncated response counts as no response", async () => {
  const api = apiWith('{"maintenances": [');
  const change = api.post("/v1/maintenances");
  await assert.rejects(change, { status: 0, message: /may or may not/ });
  const read = api.get("/v1/maintenances");
  await assert.rejects(read, { status: 0, message: /^No response from the service/ });
});

test("a token with characters that cannot be sent is rejected", async () => {
  await assert.rejects(apiWith("{}").signIn("€"), { message: /not a valid token/ });
});

test("the key of the session is sent until the user signs out", async () => {
  /** @type {(string | null)[]} */
  const keys = [];
  const api = new Api(
    async (_, init) => {
      keys.push(new Headers(init.headers).get(KEY));
      if (init.method === "DELETE") return new Response(null, { status: 204 });
      return Response.json({ name: "admin", session_key: "secret" });
    },
    () => {},
  );
  assert.deepEqual(await api.signIn("token"), { name: "admin" });
  await api.get("/v1/vms");
  await api.fetchResponse("/v1/stream", {});
  await api.post("/v1/maintenances");
  await api.signOut();
  await api.get("/v1/vms");
  assert.deepEqual(keys, [null, "secret", "secret", "secret", "secret", null]);
});

test("the key is kept for all tabs of the port", (context) => {
  const items = new Map();
  const storage = {
    getItem: (/** @type {string} */ name) => items.get(name) ?? null,
    setItem: (/** @type {string} */ name, /** @type {string} */ value) =>
      items.set(name, value),
    removeItem: (/** @type {string} */ name) => items.delete(name),
  };
  Object.defineProperty(globalThis, "localStorage", {
    value: storage,
    configurable: true,
  });
  context.after(() => Reflect.deleteProperty(globalThis, "localStorage"));
  new SessionKey().set("secret");
  assert.equal(new SessionKey().get(), "secret");
  new SessionKey().set("");
  assert.equal(new SessionKey().get(), "");
});

test("a request without a session gives no reason for the sign-in page", async () => {
  for (const [challenge, reason] of [
    ["Bearer", ""],
    ['Bearer error="invalid_token"', "the session has ended"],
  ]) {
    const why = /** @type {string[]} */ ([]);
    const headers = { "WWW-Authenticate": challenge ?? "" };
    const body = JSON.stringify({ detail: "the session has ended" });
    const api = new Api(
      async () => new Response(body, { status: 401, headers }),
      (given) => why.push(given),
    );
    await assert.rejects(api.get("/v1/session"), { status: 401 });
    assert.deepEqual(why, [reason]);
  }
});
