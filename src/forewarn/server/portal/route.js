// Where in the portal one is: #/PAGE, or #/PAGE/ID with the story of a maintenance.

import { useEffect, useState } from "./view.js";

/**
 * @typedef {object} Route
 * @property {string} page
 * @property {string | null} id of the maintenance whose story is open
 */

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
  const known = PAGES.some((each) => each.name === page);
  return { page: known ? page : "now", id: decodeURIComponent(id) || null };
}

/**
 * @param {string} page
 * @param {string | null} [id]
 */
export function hashOf(page, id = null) {
  return id === null ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`;
}

/** @returns {Route} */
export function useRoute() {
  const [route, setRoute] = useState(() => routeOf(location.hash));
  useEffect(() => {
    const changed = () => setRoute(routeOf(location.hash));
    addEventListener("hashchange", changed);
    return () => removeEventListener("hashchange", changed);
  }, []);
  return route;
}

/**
 * Open the story of a maintenance beside the page that is shown; null closes it.
 * @param {string | null} id
 */
export function openStory(id) {
  location.hash = hashOf(routeOf(location.hash).page, id);
}
