// Arrow keys: move the focus within a list or grid, which is one tab stop.

import { useLayoutEffect, useRef } from "../view.js";

const STOP = "[data-stop]";
const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 };

/**
 * Return the props of a container whose arrow keys move between the elements with
 * `data-stop`, drawn with `tabindex="-1"`. Within an element with `data-row`, up and
 * down go to the next row.
 */
export function useArrowKeys() {
  const root = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    if (root.current?.querySelector(`${STOP}[tabindex="0"]`)) return;
    const first = root.current?.querySelector(STOP);
    if (first instanceof HTMLElement) first.tabIndex = 0;
  });
  return { ref: root, onKeyDown: move, onFocusIn: keepStop };
}

/** @param {FocusEvent & {currentTarget: HTMLElement}} event */
function keepStop({ target, currentTarget }) {
  if (!(target instanceof HTMLElement) || !target.matches(STOP)) return;
  for (const stop of currentTarget.querySelectorAll(`${STOP}[tabindex="0"]`)) {
    if (stop instanceof HTMLElement) stop.tabIndex = -1;
  }
  target.tabIndex = 0;
}

/** @param {KeyboardEvent & {currentTarget: HTMLElement}} event */
function move(event) {
  const { target, currentTarget, key } = event;
  if (!(target instanceof HTMLElement) || !target.matches(STOP)) return;
  const next = nextOf(currentTarget, target, key);
  if (!next) return;
  event.preventDefault(); // do not scroll
  next.focus();
}

/**
 * @param {HTMLElement} root
 * @param {HTMLElement} from
 * @param {string} key
 * @returns {HTMLElement | undefined}
 */
function nextOf(root, from, key) {
  const row = from.closest("[data-row]");
  const stops = stopsIn(row ?? root);
  if (key === "Home") return stops[0];
  if (key === "End") return stops.at(-1);
  if (!Object.hasOwn(STEPS, key)) return undefined;
  const step = STEPS[/** @type {keyof typeof STEPS} */ (key)];
  if (!row || key === "ArrowLeft" || key === "ArrowRight") {
    return stops[stops.indexOf(from) + step];
  }
  const rows = [...root.querySelectorAll("[data-row]")];
  const other = rows[rows.indexOf(row) + step];
  return other && nearest(stopsIn(other), from);
}

/** @param {Element} root */
function stopsIn(root) {
  return /** @type {HTMLElement[]} */ ([...root.querySelectorAll(STOP)]);
}

/**
 * @param {HTMLElement[]} stops
 * @param {HTMLElement} to
 */
function nearest(stops, to) {
  const { left } = to.getBoundingClientRect();
  const distance = (/** @type {HTMLElement} */ stop) =>
    Math.abs(stop.getBoundingClientRect().left - left);
  return stops.reduce((a, b) => (distance(b) < distance(a) ? b : a));
}
