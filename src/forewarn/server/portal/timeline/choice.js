// The user's timeline settings; some are kept in the browser's storage.

import { useMemo, useState } from "../view.js";
import { SPANS } from "./scale.js";

/** @typedef {import("./lanes.js").By} By */

/**
 * @typedef {object} Chosen
 * @property {By} by
 * @property {boolean} asTable
 * @property {import("./scale.js").View} view
 * @property {string} search
 * @property {number} most number of lanes or rows to draw
 */

/** @typedef {Chosen & {set: (changed: Partial<Chosen>) => void}} Choice */

const STORAGE_KEY = "forewarn.timeline";
export const PAGE_SIZE = 100; // lanes or rows

/**
 * Return the settings and the function that changes them.
 * @returns {Choice}
 */
export function useChoice() {
  const [chosen, setChosen] = useState(initialChoice);
  const set = useMemo(
    () => (/** @type {Partial<Chosen>} */ changed) =>
      setChosen((before) => {
        const after = { ...before, ...changed };
        store(after);
        return after;
      }),
    [],
  );
  return { ...chosen, set };
}

/** @returns {Chosen} */
function initialChoice() {
  const { by, asTable } = stored();
  return {
    by: by === "group" ? "group" : "host",
    asTable: asTable === true,
    view: { span: SPANS[1]?.span ?? 0, middle: null },
    search: "",
    most: PAGE_SIZE,
  };
}

/** @returns {Partial<Chosen>} */
function stored() {
  try {
    return JSON.parse(localStorage.getItem(STORAGE_KEY) ?? "{}") ?? {};
  } catch {
    return {}; // no storage, or unknown content
  }
}

/** @param {Chosen} chosen */
function store({ by, asTable }) {
  try {
    localStorage.setItem(STORAGE_KEY, JSON.stringify({ by, asTable }));
  } catch {
    // no storage: the defaults apply next time
  }
}
