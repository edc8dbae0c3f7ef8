// Moving over the timeline: by dragging, by the wheel, by keys.

import { useEffect, useRef } from "../view.js";
import { PAN, ZOOM } from "./controls.js";
import { panned, stretchOf, zoomed } from "./scale.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").View} View */

/** @typedef {{current: HTMLElement | null}} Ref */

const SLACK = 5; // px that a click may tremble
const WHEEL = 0.002; // how much one px of the wheel zooms

/** @type {Record<string, (view: View, now: number) => View>} */
const KEYS = {
  "+": (view) => zoomed(view, 1 / ZOOM),
  "=": (view) => zoomed(view, 1 / ZOOM), // where + is with the shift key
  "-": (view) => zoomed(view, ZOOM),
  ArrowLeft: (view, now) => panned(view, -PAN, now),
  ArrowRight: (view, now) => panned(view, PAN, now),
};

/**
 * Let keys move what is shown, while the page or something on it has the focus.
 * @param {Ref} section
 * @param {Choice} choice
 * @param {number} now
 */
export function useKeys(section, choice, now) {
  const latest = useLatest({ choice, now });
  useEffect(() => {
    const page = section.current?.closest("main") ?? section.current;
    const pressed = (/** @type {KeyboardEvent} */ event) => {
      const move = KEYS[event.key];
      const isOurs = !event.ctrlKey && !event.altKey && !event.metaKey;
      const target = /** @type {HTMLElement} */ (event.target);
      if (!move || !isOurs || target.closest("input, select, textarea")) return;
      event.preventDefault();
      const { choice, now } = latest.current;
      choice.set({ view: move(choice.view, now) });
    };
    page?.addEventListener("keydown", pressed);
    return () => page?.removeEventListener("keydown", pressed);
  }, []);
}

/**
 * Let the pointer and the wheel move what is shown.
 * @param {Ref} chart
 * @param {Ref} track what is as wide as the stretch
 * @param {Choice} choice
 * @param {number} now
 */
export function useMoves(chart, track, choice, now) {
  const latest = useLatest({ choice, now });
  useEffect(() => {
    const element = chart.current;
    if (!element) return undefined;
    const turned = (/** @type {WheelEvent} */ event) => {
      const box = track.current?.getBoundingClientRect();
      if (!box?.width) return;
      const view = afterWheel(event, box, latest.current);
      if (view === null) return;
      event.preventDefault();
      latest.current.choice.set({ view });
    };
    const end = dragging(element, track, latest);
    element.addEventListener("wheel", turned, { passive: false });
    return () => {
      end();
      element.removeEventListener("wheel", turned);
    };
  }, []);
}

/**
 * @param {WheelEvent} event
 * @param {DOMRect} box
 * @param {{choice: Choice, now: number}} latest
 * @returns {View | null} null: the wheel is not for us
 */
function afterWheel(event, box, { choice, now }) {
  const { view } = choice;
  if (event.ctrlKey) {
    const share = (event.clientX - box.left) / box.width;
    const at = stretchOf(view, now).from + share * view.span;
    return zoomed(view, Math.exp(event.deltaY * WHEEL), at, now);
  }
  const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  return isSideways ? panned(view, event.deltaX / box.width, now) : null;
}

/**
 * @param {HTMLElement} element
 * @param {Ref} track
 * @param {{current: {choice: Choice, now: number}}} latest
 * @returns {() => void} ends it
 */
function dragging(element, track, latest) {
  /** @type {{x: number, view: View, isMoved: boolean} | null} */
  let begun = null;
  const down = (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0) return;
    const { choice, now } = latest.current;
    begun = { x: event.clientX, view: panned(choice.view, 0, now), isMoved: false };
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (!begun) return;
    const by = begun.x - event.clientX;
    if (!begun.isMoved && Math.abs(by) < SLACK) return;
    if (!begun.isMoved) element.setPointerCapture(event.pointerId);
    begun.isMoved = true;
    const share = by / (track.current?.clientWidth || 1);
    latest.current.choice.set({ view: panned(begun.view, share, 0) });
  };
  const up = () => {
    // the click that ends a drag is not meant for the bar below
    if (begun?.isMoved) element.addEventListener("click", swallow, ONCE);
    begun = null;
  };
  const over = new AbortController();
  const { signal } = over;
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  return () => over.abort();
}

const ONCE = { capture: true, once: true };

/** @param {Event} event */
function swallow(event) {
  event.stopPropagation();
}

/**
 * @template T
 * @param {T} value
 * @returns {{current: T}} what was given last, for listeners that stay
 */
function useLatest(value) {
  const latest = useRef(value);
  latest.current = value;
  return latest;
}
