// Where the focus goes when a story is opened and closed, and what Escape does.

import { openStory } from "../route.js";
import { useEffect, useLayoutEffect, useRef, useState } from "../view.js";

/** @typedef {{current: HTMLElement | null}} Place */

const NARROW = "(max-width: 899px)"; // as in now.css

/** Say whether the story lies over the page, and not beside it. */
export function useNarrow() {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return isNarrow;
}

/**
 * Bring the focus to `heading`, and back to where it was when the story is closed.
 * @param {Place} heading
 */
export function useFocus(heading) {
  const from = useRef(/** @type {Element | null} */ (null));
  useLayoutEffect(() => {
    from.current = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    const hash = location.hash;
    return () => giveBack(from.current, hash);
  }, []);
}

/**
 * @param {Element | null} from
 * @param {string} hash of the story that was open
 */
function giveBack(from, hash) {
  requestAnimationFrame(() => {
    const active = document.activeElement;
    if (active && active !== document.body) return; // somebody has gone elsewhere
    const isThere = from instanceof HTMLElement && from.isConnected;
    const links = [...document.querySelectorAll("main a")];
    const link = links.find((each) => each.getAttribute("href") === hash);
    const main = document.getElementById("main");
    const next = isThere && from !== document.body ? from : (link ?? main);
    /** @type {HTMLElement | null} */ (next)?.focus();
  });
}

/** Close the story with Escape, unless a dialog is open, which is closed first. */
export function useEscape() {
  useEffect(() => {
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]")) return;
      openStory(null);
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
}

/**
 * Keep what lies below the story out of reach.
 * @param {boolean} isNarrow
 */
export function useInert(isNarrow) {
  useEffect(() => {
    const below = [...document.querySelectorAll("main, body header, body footer")];
    for (const each of below) each.toggleAttribute("inert", isNarrow);
    return () => {
      for (const each of below) each.removeAttribute("inert");
    };
  }, [isNarrow]);
}
