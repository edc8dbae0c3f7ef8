// HTTP client of the control API, and its errors.

/** A failed request; the message usually comes from the service. */
export class RequestError extends Error {
  /**
   * @param {number} status 0 if there was no response
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const NO_RESPONSE = "No response from the service. Try again.";
const UNKNOWN_OUTCOME =
  "No response. Your request may or may not have been carried out; check before" +
  " retrying.";

const SESSION = "/v1/session";
const LINK_SCHEME = "Sign-In-Link"; // of the Authorization header

const BAD_TOKEN = "This is not a valid token: it contains unsupported characters.";
const READ_TIMEOUT = 20_000; // ms; a read usually takes less than one second

const KEY_ITEM = "forewarn-session-key"; // in localStorage
const KEY_HEADER = "Forewarn-Session-Key";

/**
 * The part of the session that is not in the cookie. Browsers send cookies to every
 * port on a host, but each port has its own storage, which its tabs share.
 */
export class SessionKey {
  constructor() {
    this.held = ""; // used if the browser does not allow storage
  }

  /** @returns {string} empty if there is none */
  get() {
    try {
      return localStorage.getItem(KEY_ITEM) ?? "";
    } catch {
      return this.held;
    }
  }

  /** @param {string} key empty to remove it */
  set(key) {
    this.held = key;
    try {
      if (key) localStorage.setItem(KEY_ITEM, key);
      else localStorage.removeItem(KEY_ITEM);
    } catch {
      // no storage: the session lasts as long as this page
    }
  }
}

/** Sends requests with the session's key; the browser adds the session cookie. */
export class Api {
  /**
   * @param {(path: string, init: RequestInit) => Promise<Response>} fetch
   * @param {(why: string) => void} signedOut called with the reason when the session
   *   ends; the reason is empty if the request had no session
   * @param {SessionKey} key
   */
  constructor(fetch, signedOut, key = new SessionKey()) {
    this.fetch = fetch;
    this.signedOut = signedOut;
    this.key = key;
  }

  /**
   * Read JSON. Times out, because a dead connection may never report an error.
   * @param {string} path
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} the JSON of the response
   */
  async get(path, signal) {
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), READ_TIMEOUT);
    const either = signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal;
    try {
      return await this.request("GET", path, { signal: either });
    } catch (error) {
      const isTimeout = timeout.signal.aborted && !signal?.aborted;
      if (isTimeout) throw new RequestError(0, NO_RESPONSE);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Request a change. The service carries out requests with the same `key` only once.
   * @param {string} path
   * @param {object} [body]
   * @param {string} [key]
   * @returns {Promise<any>}
   */
  post(path, body = {}, key = newKey()) {
    const headers = {
      "Content-Type": "application/json",
      "Idempotency-Key": key,
    };
    return this.request("POST", path, { headers, body: JSON.stringify(body) });
  }

  /**
   * @param {string} token
   * @returns {Promise<import("../types").Session>}
   */
  signIn(token) {
    return this.startSession("Bearer", token);
  }

  /**
   * Sign in with the code of a one-time link.
   * @param {string} code
   * @returns {Promise<import("../types").Session>}
   */
  signInWithLink(code) {
    return this.startSession(LINK_SCHEME, code);
  }

  /**
   * @param {string} scheme
   * @param {string} credentials
   * @returns {Promise<import("../types").Session>}
   */
  async startSession(scheme, credentials) {
    if (/[^\x20-\xff]/.test(credentials)) throw new RequestError(0, BAD_TOKEN);
    const headers = { Authorization: `${scheme} ${credentials}` };
    const started = await this.request("POST", SESSION, { headers });
    const { session_key: key, ...session } = started;
    this.key.set(key);
    return session;
  }

  /** End the session on the service, and remove its key. */
  async signOut() {
    await this.request("DELETE", SESSION, {});
    this.key.set("");
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestInit} init
   */
  async request(method, path, init) {
    const response = await this.fetchResponse(path, { ...init, method });
    if (!response.ok) throw await this.errorOf(response);
    if (response.status === 204) return null;
    // the body may be truncated
    return orNoResponse(response.json(), path, { ...init, method });
  }

  /**
   * Return the response, regardless of its status.
   * @param {string} path
   * @param {RequestInit} init
   */
  fetchResponse(path, init) {
    const key = this.key.get();
    const headers = { ...init.headers, ...(key && { [KEY_HEADER]: key }) };
    const sent = this.fetch(path, { cache: "no-store", ...init, headers });
    return orNoResponse(sent, path, init);
  }

  /**
   * Read the error of a failed response; a 401 ends the session.
   * @param {Response} response
   */
  async errorOf(response) {
    const body = await response.json().catch(() => null);
    const detail = body?.detail ?? `The service returned status ${response.status}.`;
    if (response.status === 401) this.signedOut(hadSession(response) ? detail : "");
    return new RequestError(response.status, detail);
  }
}

/**
 * Whether a 401 is about an invalid session or token, not about a missing one.
 * @param {Response} response
 */
function hadSession(response) {
  return response.headers.get("WWW-Authenticate")?.includes("error=") ?? false;
}

/**
 * Await `result`; report a network failure as a `RequestError`.
 * @template T
 * @param {Promise<T>} result
 * @param {string} path
 * @param {RequestInit} init if its signal aborts, the error is rethrown
 * @returns {Promise<T>}
 */
async function orNoResponse(result, path, { method = "GET", signal }) {
  try {
    return await result;
  } catch (error) {
    if (signal?.aborted) throw error;
    const isSafe = method === "GET" || path === SESSION;
    throw new RequestError(0, isSafe ? NO_RESPONSE : UNKNOWN_OUTCOME);
  }
}

/**
 * Escape the names in a path: path`/v1/vms/${name}/restart`.
 * @param {TemplateStringsArray} texts
 * @param {...string} names
 */
export function path(texts, ...names) {
  return String.raw({ raw: texts }, ...names.map(encodeURIComponent));
}

/** Create a random idempotency key. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Watch for other tabs that sign in or out. All tabs share the session's cookie and
 * key, and the browser reports a changed key once this tab can read it.
 * @param {() => void} changed
 */
export function watchOtherTabs(changed) {
  addEventListener("storage", ({ key }) => {
    if (key === KEY_ITEM || key === null) changed(); // null if all storage is cleared
  });
}
