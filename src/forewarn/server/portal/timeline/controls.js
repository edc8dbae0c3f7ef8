// Timeline controls: toolbar, visible range, legend, and the Show more button.

import { local, span, utc } from "../times.js";
import { html, useMemo } from "../view.js";
import { PAGE_SIZE } from "./choice.js";
import { pan, SPANS, zoom } from "./scale.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").TimeRange} TimeRange */

export const ZOOM = 1.5; // factor for one key press or click
export const PAN = 0.25; // share of the range

const LANES = /** @type {const} */ ([
  { by: "host", label: "Hosts" },
  { by: "group", label: "Groups" },
]);

/** @param {{choice: Choice, now: number}} props */
export function Toolbar({ choice, now }) {
  return html`<div class="tools">
    <${Lanes} choice=${choice} />
    <${AsTable} choice=${choice} />
    <${Spans} choice=${choice} />
    <${Navigation} choice=${choice} now=${now} />
    <${Search} choice=${choice} />
  </div>`;
}

/**
 * The visible range, as text.
 * @param {{choice: Choice, range: TimeRange, now: number, isReady: boolean}} props
 */
export function RangeText({ choice, range, now, isReady }) {
  const { from, to } = range;
  const text = `${local(from, now)} to ${local(to, now)}`;
  // for screen readers: announced when the user moves, not as time passes
  const announced = useMemo(() => `Showing ${text}`, [choice.view, isReady]);
  if (!isReady) return html`<p class="stretch"></p>`;
  return html`<p class="stretch" title=${`${utc(from)} to ${utc(to)}`}>
      ${text} <small>${span(to - from)}</small>
    </p>
    <span class="hidden" role="status">${announced}</span>`;
}

/** @param {{choice: Choice}} props */
function Lanes({ choice }) {
  return html`<div class="choice" role="group" aria-label="Lanes">
    ${LANES.map(
      ({ by, label }) => html`<button
        key=${by}
        aria-pressed=${choice.by === by}
        onClick=${() => choice.set({ by, most: PAGE_SIZE })}
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
      onClick=${() => choice.set({ asTable: !choice.asTable, most: PAGE_SIZE })}
    >
      Table
    </button>
  </div>`;
}

/** @param {{choice: Choice}} props */
function Spans({ choice }) {
  const { view } = choice;
  return html`<div class="choice" role="group" aria-label="Time range">
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
function Navigation({ choice, now }) {
  const { view, set } = choice;
  const zoomBy = (/** @type {number} */ by) => () => set({ view: zoom(view, by) });
  const panBy = (/** @type {number} */ by) => () => set({ view: pan(view, by, now) });
  const back = () => set({ view: { ...view, middle: null } });
  return html`<div class="choice" role="group" aria-label="Move and zoom">
    <button aria-label="Earlier" title="Earlier (←)" onClick=${panBy(-PAN)}>‹</button>
    <button
      aria-pressed=${view.middle === null}
      title="Follow the current time"
      onClick=${back}
    >
      Now
    </button>
    <button aria-label="Later" title="Later (→)" onClick=${panBy(PAN)}>›</button>
    <button aria-label="Zoom out" title="Zoom out (-)" onClick=${zoomBy(ZOOM)}>
      −
    </button>
    <button aria-label="Zoom in" title="Zoom in (+)" onClick=${zoomBy(1 / ZOOM)}>
      +
    </button>
  </div>`;
}

/** @param {{choice: Choice}} props */
function Search({ choice }) {
  const noun = choice.by === "host" ? "hosts" : "groups";
  const onInput = (/** @type {Event} */ event) => {
    const field = /** @type {HTMLInputElement} */ (event.target);
    choice.set({ search: field.value, most: PAGE_SIZE });
  };
  return html`<input
    class="search"
    type="search"
    aria-label=${`Search ${noun}`}
    placeholder=${`Search ${noun}`}
    value=${choice.search}
    onInput=${onInput}
  />`;
}

/** CSS classes of the parts of a bar, and their labels. */
const SIGNS = [
  { sign: "notice", label: "notice" },
  { sign: "work", label: "work" },
  { sign: "work expected", label: "expected work" },
  { sign: "tick", label: "not before" },
  { sign: "mark seen", label: "seen" },
  { sign: "mark approved", label: "approved" },
];

export function Legend() {
  return html`<div class="legend">
    <ul aria-label="Legend">
      ${SIGNS.map(
        ({ sign, label }) => html`<li key=${sign}>
          <span class="strip bar scheduled" aria-hidden="true">
            <i class=${sign} />
          </span>
          ${label}
        </li>`,
      )}
    </ul>
    <p class="hint">
      To move, drag or press <kbd>←</kbd> <kbd>→</kbd>. To zoom, use <kbd>Ctrl</kbd> +
      ${" "}scroll or press <kbd>+</kbd> <kbd>−</kbd>.
    </p>
  </div>`;
}

/**
 * The number of visible lanes or rows, and a button to show more.
 * @param {{choice: Choice, shown: number, all: number, noun: string}} props
 */
export function More({ choice, shown, all, noun }) {
  if (!shown || shown >= all) return null;
  const next = Math.min(all - shown, PAGE_SIZE);
  return html`<p class="more">
    <span role="status">Showing ${shown} of ${all} ${noun}s.</span>${" "}
    <button onClick=${() => choice.set({ most: choice.most + PAGE_SIZE })}>
      Show ${next} more
    </button>
  </p>`;
}
