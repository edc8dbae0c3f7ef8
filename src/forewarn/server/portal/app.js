// Puts the page together and sets it going.

import { Api, otherPages, Refused } from "./service/api.js";
import { Live } from "./service/live.js";
import { Model } from "./service/model.js";
import { Shell } from "./shell.js";
import { SignIn } from "./sign_in.js";
import { Toasts, useToasts } from "./toasts.js";
import { AppContext, html, render, useEffect, useMemo, useState } from "./view.js";

/** @typedef {import("./types").Session} Session */

const SECOND = 1000;

/** @param {{first: Session | null}} props who is signed in at first; null: nobody */
function Root({ first }) {
  const [session, setSession] = useState(first);
  const [why, setWhy] = useState(""); // one has to sign in again
  const { toasts, say, drop, clear } = useToasts();
  const others = useMemo(() => otherPages(() => void sessionNow().then(setSession)), []);
  const app = useMemo(() => made(session, say, end), [session]);

  useEffect(() => (session ? begun(app) : undefined), [app]);
  useEffect(() => clear, [session]); // the next one has not asked for it

  /** @param {string} reason */
  function end(reason) {
    if (session) setWhy(reason); // else it is a token that was refused
    setSession(null);
  }

  /** @param {Session | null} changed */
  function change(changed) {
    setWhy("");
    setSession(changed);
    others.tell();
  }

  async function leave() {
    try {
      await app.api.signOut();
      change(null);
    } catch (error) {
      say(/** @type {Error} */ (error).message, "refused");
    }
  }

  return html`<${AppContext.Provider} value=${app}>
    ${session && html`<${Shell} key=${session.expires_at} leave=${leave} />`}
    ${!session && html`<${SignIn} why=${why} enter=${change} />`}
    <${Toasts} toasts=${toasts} drop=${drop} />
  <//>`;
}

/**
 * Make what pages are given: anew for each session, so that nobody is shown what was
 * answered to another.
 * @param {Session | null} session
 * @param {import("./view.js").App["say"]} say
 * @param {(why: string) => void} signedOut
 * @returns {import("./view.js").App}
 */
function made(session, say, signedOut) {
  const model = new Model(
    (draw) => requestAnimationFrame(draw),
    () => performance.now(),
  );
  model.session = session;
  const api = asking(signedOut);
  return { model, api, live: new Live(api, model), say };
}

/** @param {(why: string) => void} signedOut */
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
 * @param {import("./view.js").App} app
 */
function begun({ model, live }) {
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
    model.session = null; // for dialogs, which are over the page
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
