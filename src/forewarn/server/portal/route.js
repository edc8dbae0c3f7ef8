// URL routes: #/PAGE, or #/PAGE/ID with a maintenance story.

import { useEffect, useState } from "./view.js";

/**
 * @typedef {object} Route
 * @property {string} page
 * @property {string | null} id of the maintenance operation whose story is open, if any
 */

const SIGN_IN = "#sign-in=";

export const PAGES = [
  { name: "now", title: "Now" },
  { name: "timeline", title: "Timeline" },
  { name: "fleet", title: "Fleet" },
];

/**
 * @param {string} hash
 * @returns {Route}
 */
export function routeOf(hash) {
  const [, page = "", id = ""] = hash.replace(/^#/, "").split("/");
  const isKnown = PAGES.some(({ name }) => name === page);
  return { page: isKnown ? page : "now", id: decodeURIComponent(id) || null };
}

/**
 * @param {string} page
 * @param {string | null} [id]
 */
export function hashOf(page, id = null) {
  return id === null ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;
}

/**
 * Remove the code of a one-time sign-in link from the address bar and the history.
 * @returns {string} the code; empty if the address contains none
 */
export function takeSignInCode() {
  const code = signInCodeIn(location.hash);
  if (code) history.replaceState(null, "", hashOf("now"));
  return code;
}

/**
 * Handle sign-in links that are opened in this tab, which does not reload the page.
 * @param {(code: string) => void} open
 */
export function watchSignInLinks(open) {
  addEventListener("hashchange", () => {
    const code = takeSignInCode();
    if (code) open(code);
  });
}

/**
 * @param {string} hash
 * @returns {string} the code of a sign-in link; empty if there is none
 */
export function signInCodeIn(hash) {
  return hash.startsWith(SIGN_IN) ? hash.slice(SIGN_IN.length) : "";
}

/** @returns {Route} */
export function useRoute() {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const update = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", update);
    return () => removeEventListener("hashchange", update);
  }, []);
  return route;
}

/**
 * Open a maintenance story next to the current page, or close it if `id` is null.
 * @param {string | null} id
 */
export function openStory(id) {
  location.hash = hashOf(routeOf(location.hash).page, id);
}
