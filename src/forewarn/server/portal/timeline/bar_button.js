// One maintenance on the timeline: its notice, its work, NotBefore, and marks.

import { labelOf, markTitle, sentenceOf } from "./words.js";
import { openStory } from "../route.js";
import { html } from "../view.js";

/** @typedef {import("./slots.js").Slot} Slot */
/** @typedef {import("./slots.js").Piece} Piece */

const ROW = 36; // px

/** @param {{slot: Slot, now: number}} props */
export function BarButton({ slot, now }) {
  const { bar, notice, work, tick, clusters } = slot;
  const said = sentenceOf(bar, now);
  const begun = `${bar.isExpected ? "expected" : ""} ${bar.isOpen ? "open" : ""}`;
  return html`<li class="slot" style=${placed(slot)}>
    <button
      class="bar ${bar.standing}"
      aria-label=${said}
      title=${said}
      onClick=${() => openStory(bar.id)}
    >
      <span class="label">${labelOf(bar)}</span>
      <span class="strip">
        ${notice && html`<i class="notice" style=${px(notice)} />`}
        ${work && html`<i class="work ${begun}" style=${px(work)} />`}
        ${tick !== null && html`<i class="tick" style=${{ left: `${tick}px` }} />`}
        ${clusters.map(
          ({ kind, left, marks }) => html`<i
            key=${`${kind}${marks[0]?.at}`}
            class="mark ${kind}"
            title=${markTitle(marks, now)}
            style=${{ left: `${left}px` }}
          />`,
        )}
      </span>
    </button>
  </li>`;
}

/** @param {Slot} slot */
function placed({ left, width, row }) {
  return { width: `${width}px`, ...moved(left, row * ROW) };
}

/**
 * Put something where it belongs. All moves as time goes on; moved in this way it costs
 * no new layout, and browsers do not take it for a page that jumps.
 * @param {number} left
 * @param {number} top
 */
export function moved(left, top = 0) {
  return { transform: `translate(${left}px, ${top}px)` };
}

/** @param {Piece} piece */
function px({ left, width }) {
  return { left: `${left}px`, width: `${width}px` };
}
