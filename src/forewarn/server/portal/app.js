// Entry point: creates the application and renders it.

import { takeSignInCode, watchSignInLinks } from "./route.js";
import { Api, RequestError, SessionKey, watchOtherTabs } from "./service/api.js";
import { Live } from "./service/live.js";
import { Model } from "./service/model.js";
import { Shell } from "./shell.js";
import { SignIn } from "./sign_in.js";
import { Toasts, useToasts } from "./toasts.js";
import { AppContext, html, render, useEffect, useMemo, useState } from "./view.js";

/** @typedef {import("./types").Session} Session */

/**
 * @typedef {object} FoundSession
 * @property {Session | null} session null if signed out
 * @property {string} why the reason to sign in again; empty if there is none
 * @property {Parameters<import("./view.js").App["notify"]>} [notice] about a sign-in
 *   link
 */

const SECOND = 1000;

const KEY = new SessionKey();
const SIGNED_OUT = "You are signed out."; // in another tab
const STILL = "You are still signed in as";

/** @param {{first: FoundSession}} props */
function Root({ first }) {
  const [session, setSession] = useState(first.session);
  const [reason, setReason] = useState(first.why); // why the user must sign in again
  const { toasts, notify, drop, clear } = useToasts();
  // The number of the last change, and what to show once its session is drawn.
  const latest = useMemo(() => ({ change: 0, notice: first.notice }), []);
  const app = useMemo(() => createApp(session, notify, end), [session]);

  useEffect(() => (session ? connect(app) : undefined), [app]);
  useEffect(() => watchOtherTabs(() => void followOthers()), []);
  useEffect(() => watchSignInLinks((code) => void openLink(code)), []);
  useEffect(() => clear, [session]); // toasts belong to the session
  useEffect(showNotice, [session]);

  /** @param {string} why */
  function end(why) {
    if (session) setReason(why || SIGNED_OUT); // otherwise a sign-in was rejected
    setSession((current) => (current === session ? null : current)); // may come late
  }

  function showNotice() {
    if (latest.notice) notify(...latest.notice);
    delete latest.notice;
  }

  /** Adopt a session change from another tab. */
  function followOthers() {
    return adopt(fetchSession(), SIGNED_OUT);
  }

  /** @param {string} code of a sign-in link that was opened in this tab */
  function openLink(code) {
    return adopt(redeem(code), "");
  }

  /**
   * Adopt a session that is being fetched, unless there is a newer change.
   * @param {Promise<FoundSession>} fetched
   * @param {string} why the reason if the service gives none
   */
  async function adopt(fetched, why) {
    const own = ++latest.change;
    const found = await fetched;
    if (own !== latest.change) return;
    latest.notice = found.notice;
    setReason(found.session ? "" : found.why || why);
    setSession(found.session);
  }

  /** @param {Session | null} changed */
  function change(changed) {
    latest.change += 1;
    setReason("");
    setSession(changed);
  }

  async function signOut() {
    try {
      await app.api.signOut();
      change(null);
    } catch (error) {
      notify(/** @type {Error} */ (error).message, "refused");
    }
  }

  return html`<${AppContext.Provider} value=${app}>
    ${session && html`<${Shell} key=${session.expires_at} signOut=${signOut} />`}
    ${!session && html`<${SignIn} reason=${reason} enter=${change} />`}
    <${Toasts} toasts=${toasts} drop=${drop} />
  <//>`;
}

/**
 * Create the application context. Each session gets its own model, so that it never
 * shows another session's data.
 * @param {Session | null} session
 * @param {import("./view.js").App["notify"]} notify
 * @param {(why: string) => void} signedOut
 * @returns {import("./view.js").App}
 */
function createApp(session, notify, signedOut) {
  const model = new Model(
    (draw) => requestAnimationFrame(draw),
    () => performance.now(),
  );
  model.session = session;
  const api = createApi(signedOut);
  return { model, api, live: new Live(api, model), notify };
}

/** @param {(why: string) => void} signedOut */
function createApi(signedOut) {
  return new Api((path, init) => fetch(path, init), signedOut, KEY);
}

/**
 * Fetch the current session; retry until the service responds.
 * @returns {Promise<FoundSession>}
 */
async function fetchSession() {
  let why = "";
  const api = createApi((reason) => (why = reason));
  for (;;) {
    try {
      return { session: await api.get("/v1/session"), why: "" };
    } catch (error) {
      const isSignedOut = error instanceof RequestError && error.status === 401;
      if (isSignedOut) return { session: null, why };
      await new Promise((resolve) => setTimeout(resolve, SECOND));
    }
  }
}

/**
 * Sign in with the code of a one-time link. If this fails, keep the current session.
 * @param {string} code
 * @returns {Promise<FoundSession>}
 */
async function redeem(code) {
  try {
    const session = await createApi(() => {}).signInWithLink(code);
    const { name, role } = session;
    return { session, why: "", notice: [`Signed in as ${name} (role: ${role}).`] };
  } catch (error) {
    const why = /** @type {Error} */ (error).message;
    const { session } = await fetchSession();
    if (!session) return { session, why };
    return { session, why, notice: [`${STILL} ${session.name}: ${why}`, "refused"] };
  }
}

/**
 * Stay connected while the page is visible: browsers limit the number of connections
 * to a service across all tabs.
 * @param {import("./view.js").App} app
 */
function connect({ model, live }) {
  const update = () => (document.hidden ? live.stop() : live.start());
  update();
  document.addEventListener("visibilitychange", update);
  addEventListener("online", update);
  const timer = setInterval(() => live.tick(), SECOND);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", update);
    removeEventListener("online", update);
    live.stop();
    model.session = null; // closes open dialogs
    model.reset();
  };
}

/** Replace the static content of index.html. */
async function start() {
  const code = takeSignInCode(); // at once, so that the code is not left in the history
  const root = document.getElementById("root");
  const first = await (code ? redeem(code) : fetchSession());
  root?.replaceChildren();
  if (root) render(html`<${Root} first=${first} />`, root);
}

void start();
