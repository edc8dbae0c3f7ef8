// Puts the page together and sets it going.

import { Api, Refused } from "./service/api.js";
import { Live } from "./service/live.js";
import { Model } from "./service/model.js";
import { otherPages } from "./service/pages.js";
import { Shell } from "./shell.js";
import { SignIn } from "./signin.js";
import { Toasts, useToasts } from "./toasts.js";
import { AppContext, html, render, useEffect, useMemo, useState } from "./view.js";

/** @typedef {import("./types").Session} Session */

const SECOND = 1000;

/** @param {{first: Session | null}} props who is signed in at first; null: nobody */
function Root({ first }) {
  const [session, setSession] = useState(first);
  const { toasts, say, drop, clear } = useToasts();
  const { model, api, live } = useMemo(() => made(() => setSession(null)), []);
  const others = useMemo(
    () => otherPages(() => void sessionNow().then(setSession)),
    [],
  );

  useEffect(() => (session ? begun(model, live, session) : undefined), [session]);
  useEffect(() => clear, [session]); // the next one has not asked for it

  /** @param {Session} entered */
  function enter(entered) {
    setSession(entered);
    others.tell();
  }

  async function leave() {
    try {
      await api.signOut();
      setSession(null);
      others.tell();
    } catch (error) {
      say(/** @type {Error} */ (error).message, "refused");
    }
  }

  const app = useMemo(() => ({ model, api, live, say }), [model, api, live, say]);
  return html`<${AppContext.Provider} value=${app}>
    ${session && html`<${Shell} leave=${leave} />`}
    ${!session && html`<${SignIn} enter=${enter} />`}
    <${Toasts} toasts=${toasts} drop=${drop} />
  <//>`;
}

/** @param {() => void} signedOut */
function made(signedOut) {
  const model = new Model(
    (draw) => requestAnimationFrame(draw),
    () => performance.now(),
  );
  const api = asking(signedOut);
  return { model, api, live: new Live(api, model) };
}

/** @param {() => void} signedOut */
function asking(signedOut) {
  return new Api((path, init) => fetch(path, init), signedOut);
}

/**
 * Ask who is signed in, until the service answers.
 * @returns {Promise<Session | null>}
 */
async function sessionNow() {
  const api = asking(() => {});
  for (;;) {
    try {
      return await api.get("/v1/session");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return null;
      await new Promise((resolve) => setTimeout(resolve, SECOND));
    }
  }
}

/**
 * Follow the service as long as somebody is signed in and looks at the page: browsers
 * open but a few connections to one service, for all their pages together.
 * @param {Model} model
 * @param {Live} live
 * @param {Session} session
 */
function begun(model, live, session) {
  model.session = session;
  const look = () => (document.hidden ? live.stop() : live.start());
  look();
  document.addEventListener("visibilitychange", look);
  addEventListener("online", look);
  const timer = setInterval(() => live.tick(), SECOND);
  return () => {
    clearInterval(timer);
    document.removeEventListener("visibilitychange", look);
    removeEventListener("online", look);
    live.stop();
    model.session = null;
    model.forget();
  };
}

/** Take the place of what the file itself shows, which is there before any script. */
async function begin() {
  const root = document.getElementById("root");
  const first = await sessionNow();
  root?.replaceChildren();
  if (root) render(html`<${Root} first=${first} />`, root);
}

void begin();
