// Puts the page together and sets it going.

import { Api, Refused } from "./service/api.js";
import { Live } from "./service/live.js";
import { Model } from "./service/model.js";
import { Shell } from "./shell.js";
import { SignIn } from "./signin.js";
import { Toasts, useToasts } from "./toasts.js";
import { AppContext, html, render, useEffect, useMemo, useState } from "./view.js";

/** @typedef {import("./types").Session} Session */

const SECOND = 1000;

function Root() {
  const [session, setSession] = useState(/** @type {Session | null} */ (null));
  const [isKnown, setKnown] = useState(false); // whether one is signed in, or not
  const { toasts, say, drop } = useToasts();
  const { model, api, live } = useMemo(() => made(() => setSession(null)), []);

  useEffect(() => {
    void sessionOf(api)
      .then(setSession)
      .finally(() => setKnown(true));
  }, [api]);

  useEffect(() => (session ? begun(model, live, session) : undefined), [session]);

  async function leave() {
    try {
      await api.signOut();
      setSession(null);
    } catch (error) {
      say(/** @type {Error} */ (error).message, "refused");
    }
  }

  const app = useMemo(() => ({ model, api, live, say }), [model, api, live, say]);
  return html`<${AppContext.Provider} value=${app}>
    ${session && html`<${Shell} leave=${leave} />`}
    ${!session && isKnown && html`<${SignIn} enter=${setSession} />`}
    <${Toasts} toasts=${toasts} drop=${drop} />
  <//>`;
}

/** @param {() => void} signedOut */
function made(signedOut) {
  const model = new Model(
    (draw) => requestAnimationFrame(draw),
    () => performance.now(),
  );
  const api = new Api((path, init) => fetch(path, init), signedOut);
  return { model, api, live: new Live(api, model) };
}

/**
 * Ask who is signed in, until the service answers.
 * @param {Api} api
 * @returns {Promise<Session | null>}
 */
async function sessionOf(api) {
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

const root = document.getElementById("root");
if (root) render(html`<${Root} />`, root);
