// What the viewer has chosen to see on the timeline; some of it is kept for next time.

import { useMemo, useState } from "../view.js";
import { SPANS } from "./scale.js";

/** @typedef {import("./lanes.js").By} By */

/**
 * @typedef {object} Chosen
 * @property {By} by
 * @property {boolean} asTable
 * @property {import("./scale.js").View} view
 * @property {string} search
 * @property {number} most lanes or rows that are drawn
 */

/** @typedef {Chosen & {set: (more: Partial<Chosen>) => void}} Choice */

const KEPT = "forewarn.timeline";
export const AT_ONCE = 100;

/**
 * Keep what is chosen.
 * @returns {Choice}
 */
export function useChoice() {
  const [chosen, setChosen] = useState(begin);
  const set = useMemo(
    () => (/** @type {Partial<Chosen>} */ more) =>
      setChosen((before) => {
        const after = { ...before, ...more };
        keep(after);
        return after;
      }),
    [],
  );
  return { ...chosen, set };
}

/** @returns {Chosen} */
function begin() {
  const { by, asTable } = kept();
  return {
    by: by === "group" ? "group" : "host",
    asTable: asTable === true,
    view: { span: SPANS[1]?.span ?? 0, middle: null },
    search: "",
    most: AT_ONCE,
  };
}

/** @returns {Partial<Chosen>} */
function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT) ?? "{}") ?? {};
  } catch {
    return {}; // the browser keeps nothing, or what it has kept is not ours
  }
}

/** @param {Chosen} chosen */
function keep({ by, asTable }) {
  try {
    localStorage.setItem(KEPT, JSON.stringify({ by, asTable }));
  } catch {
    // then it is chosen again next time
  }
}
