// Keyboard focus of the story panel: on open, on close, and the Escape key.

import { openStory } from "../route.js";
import { useEffect, useLayoutEffect, useRef, useState } from "../view.js";

/** @typedef {{current: HTMLElement | null}} Ref */

const NARROW = "(max-width: 899px)"; // as in story.css

/** Return whether the story covers the page instead of appearing next to it. */
export function useNarrow() {
  const [isNarrow, setNarrow] = useState(() => matchMedia(NARROW).matches);
  useEffect(() => {
    const query = matchMedia(NARROW);
    const update = () => setNarrow(query.matches);
    query.addEventListener("change", update);
    return () => query.removeEventListener("change", update);
  }, []);
  return isNarrow;
}

/**
 * Move the focus to `heading`, and back when the story is closed.
 * @param {Ref} heading
 */
export function useFocus(heading) {
  const opener = useRef(/** @type {Element | null} */ (null));
  useLayoutEffect(() => {
    opener.current = document.activeElement;
    heading.current?.focus({ preventScroll: true });
    const hash = location.hash;
    return () => restoreFocus(opener.current, hash);
  }, []);
}

/**
 * @param {Element | null} opener
 * @param {string} hash of the story that was open
 */
function restoreFocus(opener, hash) {
  requestAnimationFrame(() => {
    const active = document.activeElement;
    if (active && active !== document.body) return; // it has moved already
    const isConnected = opener instanceof HTMLElement && opener.isConnected;
    const links = [...document.querySelectorAll("main a")];
    const link = links.find((anchor) => anchor.getAttribute("href") === hash);
    const main = document.getElementById("main");
    const isUsable = isConnected && opener !== document.body;
    const next = isUsable ? opener : (link ?? main);
    /** @type {HTMLElement | null} */ (next)?.focus();
  });
}

/** Close the story with Escape, unless a dialog is open. */
export function useEscape() {
  useLayoutEffect(() => {
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape" || event.defaultPrevented) return;
      if (document.querySelector("dialog[open]")) return;
      openStory(null);
    };
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
}

/**
 * Make the rest of the page inert while the story covers it.
 * @param {boolean} isNarrow
 */
export function useInert(isNarrow) {
  useEffect(() => {
    const covered = [...document.querySelectorAll("main, body header, body footer")];
    for (const element of covered) element.toggleAttribute("inert", isNarrow);
    return () => {
      for (const element of covered) element.removeAttribute("inert");
    };
  }, [isNarrow]);
}
