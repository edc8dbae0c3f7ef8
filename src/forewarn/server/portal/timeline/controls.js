// Above the timeline: what is shown, how much of it, and how to get elsewhere.
// Around the timeline: what its signs mean, and how to see more of it.

import { local, span, utc } from "../times.js";
import { html, useMemo } from "../view.js";
import { AT_ONCE } from "./choice.js";
import { panned, SPANS, zoomed } from "./scale.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").Stretch} Stretch */

export const ZOOM = 1.5; // by one press
export const PAN = 0.25; // of what is shown, by one press

const LANES = /** @type {const} */ ([
  { by: "host", label: "Hosts" },
  { by: "group", label: "Groups" },
]);

/** @param {{choice: Choice, now: number}} props */
export function Tools({ choice, now }) {
  return html`<div class="tools">
    <${Lanes} choice=${choice} />
    <${AsTable} choice=${choice} />
    <${Spans} choice=${choice} />
    <${Moves} choice=${choice} now=${now} />
    <${Search} choice=${choice} />
  </div>`;
}

/**
 * From when to when the timeline reaches.
 * @param {{choice: Choice, stretch: Stretch, now: number, isReady: boolean}} props
 */
export function Shown({ choice, stretch, now, isReady }) {
  const { from, to } = stretch;
  const said = `${local(from, now)} to ${local(to, now)}`;
  // read aloud when the viewer has moved, not whenever time goes on
  const aloud = useMemo(() => `Shown: ${said}`, [choice.view, isReady]);
  if (!isReady) return html`<p class="stretch"></p>`;
  return html`<p class="stretch" title=${`${utc(from)} to ${utc(to)}`}>
      ${said} <small>${span(to - from)}</small>
    </p>
    <span class="hidden" role="status">${aloud}</span>`;
}

/** @param {{choice: Choice}} props */
function Lanes({ choice }) {
  return html`<div class="choice" role="group" aria-label="Lanes">
    ${LANES.map(
      ({ by, label }) => html`<button
        key=${by}
        aria-pressed=${choice.by === by}
        onClick=${() => choice.set({ by, most: AT_ONCE })}
      >
        ${label}
      </button>`,
    )}
  </div>`;
}

/** @param {{choice: Choice}} props */
function AsTable({ choice }) {
  return html`<div class="choice">
    <button
      aria-pressed=${choice.asTable}
      onClick=${() => choice.set({ asTable: !choice.asTable, most: AT_ONCE })}
    >
      As a table
    </button>
  </div>`;
}

/** @param {{choice: Choice}} props */
function Spans({ choice }) {
  const { view } = choice;
  return html`<div class="choice" role="group" aria-label="Time shown around now">
    ${SPANS.map(
      ({ label, span: length }) => html`<button
        key=${label}
        aria-pressed=${view.span === length}
        onClick=${() => choice.set({ view: { span: length, middle: null } })}
      >
        ${label}
      </button>`,
    )}
  </div>`;
}

/** @param {{choice: Choice, now: number}} props */
function Moves({ choice, now }) {
  const { view, set } = choice;
  const zoom = (/** @type {number} */ by) => () => set({ view: zoomed(view, by) });
  const pan = (/** @type {number} */ by) => () => set({ view: panned(view, by, now) });
  const back = () => set({ view: { ...view, middle: null } });
  return html`<div class="choice" role="group" aria-label="Move and zoom">
    <button aria-label="Earlier" title="Earlier (←)" onClick=${pan(-PAN)}>‹</button>
    <button aria-pressed=${view.middle === null} title="Go with now" onClick=${back}>
      Now
    </button>
    <button aria-label="Later" title="Later (→)" onClick=${pan(PAN)}>›</button>
    <button aria-label="Zoom out" title="Zoom out (-)" onClick=${zoom(ZOOM)}>
      −
    </button>
    <button aria-label="Zoom in" title="Zoom in (+)" onClick=${zoom(1 / ZOOM)}>
      +
    </button>
  </div>`;
}

/** @param {{choice: Choice}} props */
function Search({ choice }) {
  const what = choice.by === "host" ? "hosts" : "groups";
  const found = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    choice.set({ search: field.value, most: AT_ONCE });
  };
  return html`<input
    class="search"
    type="search"
    aria-label=${`Search ${what}`}
    placeholder=${`Search ${what}`}
    value=${choice.search}
    onInput=${found}
  />`;
}

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
