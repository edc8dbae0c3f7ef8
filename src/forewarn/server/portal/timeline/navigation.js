// Timeline navigation with dragging, the mouse wheel and keys.

import { useEffect, useRef } from "../view.js";
import { PAN, ZOOM } from "./controls.js";
import { pan, rangeOf, zoom } from "./scale.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").View} View */

/** @typedef {{current: HTMLElement | null}} Ref */

const SLACK = 5; // px that the pointer may move during a click
const WHEEL = 0.002; // zoom per px of the wheel

/** @type {Record<string, (view: View, now: number) => View>} */
const KEYS = {
  "+": (view) => zoom(view, 1 / ZOOM),
  "=": (view) => zoom(view, 1 / ZOOM), // + without the Shift key
  "-": (view) => zoom(view, ZOOM),
  ArrowLeft: (view, now) => pan(view, -PAN, now),
  ArrowRight: (view, now) => pan(view, PAN, now),
};

/**
 * Pan and zoom with keys while the focus is on the page.
 * @param {Ref} section
 * @param {Choice} choice
 * @param {number} now
 */
export function useKeys(section, choice, now) {
  const latest = useLatest({ choice, now });
  useEffect(() => {
    const page = section.current?.closest("main") ?? section.current;
    const onKey = (/** @type {KeyboardEvent} */ event) => {
      const move = KEYS[event.key];
      const isOurs = !event.ctrlKey && !event.altKey && !event.metaKey;
      const target = /** @type {HTMLElement} */ (event.target);
      if (!move || !isOurs || target.closest("input, select, textarea")) return;
      event.preventDefault();
      const { choice, now } = latest.current;
      choice.set({ view: move(choice.view, now) });
    };
    page?.addEventListener("keydown", onKey);
    return () => page?.removeEventListener("keydown", onKey);
  }, []);
}

/**
 * Pan and zoom with the pointer and the mouse wheel.
 * @param {Ref} chart
 * @param {Ref} track element that is as wide as the range
 * @param {Choice} choice
 * @param {number} now
 */
export function usePointer(chart, track, choice, now) {
  const latest = useLatest({ choice, now });
  useEffect(() => {
    const element = chart.current;
    if (!element) return undefined;
    const onWheel = (/** @type {WheelEvent} */ event) => {
      const box = track.current?.getBoundingClientRect();
      if (!box?.width) return;
      const view = afterWheel(event, box, latest.current);
      if (view === null) return;
      event.preventDefault();
      latest.current.choice.set({ view });
    };
    const end = listenToDrags(element, track, latest);
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => {
      end();
      element.removeEventListener("wheel", onWheel);
    };
  }, []);
}

/**
 * @param {WheelEvent} event
 * @param {DOMRect} box
 * @param {{choice: Choice, now: number}} latest
 * @returns {View | null} null if the event scrolls the page
 */
function afterWheel(event, box, { choice, now }) {
  const { view } = choice;
  if (event.ctrlKey) {
    const share = (event.clientX - box.left) / box.width;
    const at = rangeOf(view, now).from + share * view.span;
    return zoom(view, Math.exp(event.deltaY * WHEEL), at, now);
  }
  const isSideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
  return isSideways ? pan(view, event.deltaX / box.width, now) : null;
}

/**
 * @param {HTMLElement} element
 * @param {Ref} track
 * @param {{current: {choice: Choice, now: number}}} latest
 * @returns {() => void} removes the listeners
 */
function listenToDrags(element, track, latest) {
  /** @type {{x: number, view: View, isMoved: boolean} | null} */
  let drag = null;
  const down = (/** @type {PointerEvent} */ event) => {
    if (event.button !== 0) return;
    const { choice, now } = latest.current;
    drag = { x: event.clientX, view: pan(choice.view, 0, now), isMoved: false };
  };
  const move = (/** @type {PointerEvent} */ event) => {
    if (!drag) return;
    const by = drag.x - event.clientX;
    if (!drag.isMoved && Math.abs(by) < SLACK) return;
    if (!drag.isMoved) element.setPointerCapture(event.pointerId);
    drag.isMoved = true;
    const share = by / (track.current?.clientWidth || 1);
    latest.current.choice.set({ view: pan(drag.view, share, 0) });
  };
  const up = () => {
    // the click that ends a drag must not open the bar under the pointer
    if (drag?.isMoved) element.addEventListener("click", swallow, ONCE);
    drag = null;
  };
  const removal = new AbortController();
  const { signal } = removal;
  element.addEventListener("pointerdown", down, { signal });
  element.addEventListener("pointermove", move, { signal });
  element.addEventListener("pointerup", up, { signal });
  element.addEventListener("pointercancel", up, { signal });
  return () => removal.abort();
}

const ONCE = { capture: true, once: true };

/** @param {Event} event */
function swallow(event) {
  event.stopPropagation();
}

/**
 * @template T
 * @param {T} value
 * @returns {{current: T}} the latest value, for long-lived listeners
 */
function useLatest(value) {
  const latest = useRef(value);
  latest.current = value;
  return latest;
}
