// Around the timeline: what its signs mean, and how to see more of it.

import { AT_ONCE } from "./choice.js";
import { html } from "../view.js";

/** @typedef {import("./choice.js").Choice} Choice */

/** How signs look; the names are those of the bars. */
const SIGNS = [
  { sign: "notice", said: "notice" },
  { sign: "work", said: "work" },
  { sign: "work expected", said: "work expected" },
  { sign: "tick", said: "not before" },
  { sign: "mark seen", said: "seen" },
  { sign: "mark approved", said: "approved" },
];

export function Legend() {
  return html`<div class="legend">
    <ul aria-label="Signs">
      ${SIGNS.map(
        ({ sign, said }) => html`<li key=${sign}>
          <span class="strip bar scheduled" aria-hidden="true">
            <i class=${sign} />
          </span>
          ${said}
        </li>`,
      )}
    </ul>
    <p class="hint">
      Drag or <kbd>←</kbd> <kbd>→</kbd> to move, <kbd>Ctrl</kbd> + wheel or
      ${" "}<kbd>+</kbd> <kbd>−</kbd> to zoom.
    </p>
  </div>`;
}

/**
 * What is not drawn yet.
 * @param {{choice: Choice, shown: number, all: number, noun: string}} props
 */
export function More({ choice, shown, all, noun }) {
  if (!shown || shown >= all) return null;
  const next = Math.min(all - shown, AT_ONCE);
  return html`<p class="more">
    <span role="status">${shown} of ${all} ${noun}s are shown.</span>${" "}
    <button onClick=${() => choice.set({ most: choice.most + AT_ONCE })}>
      Show ${next} more
    </button>
  </p>`;
}
