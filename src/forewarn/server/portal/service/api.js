// Questions to the service, and how it refuses them.
// Other pages of the same browser: they share the cookie, so that who signs in or out on
// one of them does so on all.

/** What the service says when it refuses: its own sentence. */
export class Refused extends Error {
  /**
   * @param {number} status 0: there was no answer
   * @param {string} detail
   */
  constructor(status, detail) {
    super(detail);
    this.status = status;
  }
}

const AWAY = "The service does not answer. Nothing is known of what you asked for.";

const NO_TOKEN = "That is no token: it has characters that cannot be sent.";
const LATE = 20_000; // ms; what is read is there in one second, if ever

/** Asks the service; the browser adds the session's cookie. */
export class Api {
  /**
   * @param {(path: string, init: RequestInit) => Promise<Response>} fetch
   * @param {(why: string) => void} signedOut called when the session is over
   */
  constructor(fetch, signedOut) {
    this.fetch = fetch;
    this.signedOut = signedOut;
  }

  /**
   * Read. An answer that is late is none: a connection may be dead, and nobody says so.
   * @param {string} path
   * @param {AbortSignal} [signal]
   * @returns {Promise<any>} the JSON of the answer
   */
  async get(path, signal) {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), LATE);
    const either = signal ? AbortSignal.any([signal, late.signal]) : late.signal;
    try {
      return await this.ask("GET", path, { signal: either });
    } catch (error) {
      if (late.signal.aborted && !signal?.aborted) throw new Refused(0, AWAY);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }

  /**
   * Ask for a change. The same `key` twice is done once.
   * @param {string} path
   * @param {object} [body]
   * @param {string} [key]
   * @returns {Promise<any>}
   */
  post(path, body = {}, key = freshKey()) {
    const headers = {
      "Content-Type": "application/json",
      "Idempotency-Key": key,
    };
    return this.ask("POST", path, { headers, body: JSON.stringify(body) });
  }

  /**
   * @param {string} token
   * @returns {Promise<import("../types").Session>}
   */
  async signIn(token) {
    if (/[^\x20-\xff]/.test(token)) throw new Refused(0, NO_TOKEN);
    const headers = { Authorization: `Bearer ${token}` };
    return this.ask("POST", "/v1/session", { headers });
  }

  /** @returns {Promise<any>} */
  signOut() {
    return this.ask("DELETE", "/v1/session", {});
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {RequestInit} more
   */
  async ask(method, path, more) {
    const answer = await this.answered(path, { ...more, method });
    if (!answer.ok) throw await this.refusal(answer);
    if (answer.status === 204) return null;
    return orAway(answer.json(), more.signal); // it may break off in its middle
  }

  /**
   * Get an answer, whatever it is.
   * @param {string} path
   * @param {RequestInit} init
   */
  answered(path, init) {
    return orAway(this.fetch(path, { cache: "no-store", ...init }), init.signal);
  }

  /**
   * Read why an answer is none.
   * @param {Response} answer
   */
  async refusal(answer) {
    const said = await answer.json().catch(() => null);
    const detail = said?.detail ?? `The service answers ${answer.status}.`;
    if (answer.status === 401) this.signedOut(detail);
    return new Refused(answer.status, detail);
  }
}

/**
 * Wait for what the service sends, and say so if it does not come.
 * @template T
 * @param {Promise<T>} coming
 * @param {AbortSignal | null} [signal] of those who wait no longer
 * @returns {Promise<T>}
 */
async function orAway(coming, signal) {
  try {
    return await coming;
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Refused(0, AWAY);
  }
}

/**
 * Write a path with names in it: path`/v1/vms/${name}/restart`.
 * @param {TemplateStringsArray} texts
 * @param {...string} names
 */
export function path(texts, ...names) {
  return String.raw({ raw: texts }, ...names.map(encodeURIComponent));
}

/** Make a key that nobody has used. */
export function freshKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((each) => each.toString(16).padStart(2, "0")).join("");
}

const NAME = "forewarn-session";

/**
 * Hear of the others, and be heard by them.
 * @param {() => void} changed called when somebody has signed in or out elsewhere
 * @returns {{tell: () => void}}
 */
export function otherPages(changed) {
  const channel = new BroadcastChannel(NAME);
  channel.addEventListener("message", changed);
  return { tell: () => channel.postMessage(null) };
}
