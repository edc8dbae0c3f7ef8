// Timeline chart: an axis, a line at the current time, and lanes with bars.

import { openStory } from "../route.js";
import { utc } from "../times.js";
import { html, useLayoutEffect, useNow, useRef, useState } from "../view.js";
import { Legend, More } from "./controls.js";
import { firstLanes } from "./lanes.js";
import { stackBars } from "./layout.js";
import { usePointer } from "./navigation.js";
import { barLabel, barSentence, laneTitle, markTitle } from "./phrases.js";
import { positionOf, ticksOf } from "./scale.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").TimeRange} TimeRange */
/** @typedef {import("./scale.js").Tick} Tick */
/** @typedef {import("./lanes.js").By} By */
/** @typedef {import("./layout.js").Slot} Slot */
/** @typedef {import("./layout.js").Piece} Piece */

/** @typedef {{current: HTMLElement | null}} Ref */

/**
 * @typedef {object} PictureProps of the chart and the table
 * @property {Choice} choice
 * @property {import("./lanes.js").Lane[]} lanes
 * @property {TimeRange} range
 * @property {number} now
 * @property {boolean} isReady
 * @property {import("preact").ComponentChildren} children shown if there are no lanes
 */

const ROW = 36; // px
const SKELETON_LANES = 6; // drawn while data is loading
const BARS_PER_LANE = 5; // drawn at once, on average
const MOST_ROWS = 6; // per lane, until the user expands it

const WITH_SECONDS = 10 * 60_000; // ms; the axis of a shorter range shows seconds
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECOND = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** @param {PictureProps} props */
export function Chart({ choice, lanes, range, now, isReady, children }) {
  const chart = useRef(/** @type {HTMLElement | null} */ (null));
  const track = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(track);
  useHeaderHeight(chart);
  usePointer(chart, track, choice, now);
  const { by, most } = choice;
  const shown = width ? firstLanes(lanes, most, most * BARS_PER_LANE) : [];
  const props = { by, range, width, now };
  return html`<${Legend} />
    <div class="chart card" ref=${chart}>
      <${Axis} range=${range} width=${width} track=${track} isReady=${isReady} />
      ${!isReady && html`<${Skeleton} />`} ${children}
      <ol class="lanes" aria-label=${by === "host" ? "Hosts" : "Groups"}>
        ${shown.map(
          ({ name, bars }) =>
            html`<${LaneRow} key=${name} name=${name} bars=${bars} ...${props} />`,
        )}
      </ol>
    </div>
    <${More} choice=${choice} shown=${shown.length} all=${lanes.length} noun="lane" />`;
}

/**
 * Return the width of an element in px, and redraw when it changes.
 * @param {Ref} ref
 */
function useWidth(ref) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => setWidth(element.clientWidth);
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return width;
}

/**
 * Set `--below-header`, so that the sticky axis stays below a sticky header.
 * @param {Ref} chart
 */
function useHeaderHeight(chart) {
  useLayoutEffect(() => {
    const header = document.querySelector("header");
    if (!header) return undefined;
    const observer = new ResizeObserver(() => {
      const isSticky = getComputedStyle(header).position === "sticky";
      const height = isSticky ? header.offsetHeight : 0;
      chart.current?.style.setProperty("--below-header", `${height}px`);
    });
    observer.observe(header);
    return () => observer.disconnect();
  }, []);
}

/**
 * @param {{range: TimeRange, width: number, track: Ref, isReady: boolean}} props
 */
function Axis({ range, width, track, isReady }) {
  const ticks = isReady && width ? ticksOf(range, width) : [];
  const positioned = ticks.map((tick) => ({
    ...tick,
    style: translate(positionOf(tick.at, range, width)),
  }));
  return html`<div class="axis" aria-hidden="true">
      <div class="ticks" ref=${track}>
        ${positioned.map(
          ({ at, isDay, style }) => html`<time
            key=${at}
            class=${isDay ? "day" : ""}
            style=${style}
            title=${utc(at)}
            >${axisLabel(at, isDay, range)}</time
          >`,
        )}
        ${isReady && html`<${NowLabel} range=${range} width=${width} />`}
      </div>
    </div>
    <div class="plot" aria-hidden="true">
      ${positioned.map(
        ({ at, style }) => html`<i key=${at} class="grid" style=${style} />`,
      )}
      ${isReady && html`<${NowLine} range=${range} width=${width} />`}
    </div>`;
}

/**
 * @param {number} at
 * @param {boolean} isDay
 * @param {TimeRange} range
 */
function axisLabel(at, isDay, { from, to }) {
  if (isDay) return DAY.format(at);
  return (to - from < WITH_SECONDS ? SECOND : MINUTE).format(at);
}

/**
 * The line at the current time of the service's clock.
 * @param {{range: TimeRange, width: number}} props
 */
function NowLine({ range, width }) {
  const left = positionOf(useNow(), range, width);
  const past = `${Math.min(Math.max(left, 0), width)}px`;
  return html`<i class="past" style=${{ width: past }} />
    ${isInside(left, width) && html`<i class="now" style=${translate(left)} />`}`;
}

/**
 * The label of the current-time line on the axis.
 * @param {{range: TimeRange, width: number}} props
 */
function NowLabel({ range, width }) {
  const now = useNow();
  const left = positionOf(now, range, width);
  if (!isInside(left, width)) return null;
  return html`<b style=${translate(left)} title=${utc(now)}><span>now</span></b>`;
}

/**
 * @param {number} left
 * @param {number} width
 */
function isInside(left, width) {
  return left >= 0 && left <= width;
}

/**
 * @typedef {object} Row
 * @property {string} name
 * @property {import("./bars.js").Bar[]} bars
 * @property {By} by
 * @property {TimeRange} range
 * @property {number} width
 * @property {number} now
 */

/** @param {Row} props */
function LaneRow({ name, bars, by, range, width, now }) {
  const [isWhole, setWhole] = useState(false);
  const most = isWhole ? Infinity : MOST_ROWS;
  const { slots, rows, hidden } = stackBars(bars, range, width, most);
  const title = laneTitle(name, by);
  return html`<li class="lane">
    <div class="name ${name ? "" : "soft"}" title=${title}>${title}</div>
    <ul class="track" aria-label=${title} style=${{ height: `${rows * ROW}px` }}>
      ${slots.map(
        (slot) => html`<${BarButton} key=${slot.bar.id} slot=${slot} now=${now} />`,
      )}
    </ul>
    ${
      (hidden > 0 || isWhole) &&
      html`<button class="quiet rest" onClick=${() => setWhole(!isWhole)}>
      ${isWhole ? "Show fewer" : `Show ${hidden} more in ${title}`}
    </button>`
    }
  </li>`;
}

/** Placeholder for the lanes while data is loading. */
function Skeleton() {
  const lanes = [...Array(SKELETON_LANES).keys()];
  return html`<div class="skeleton" aria-hidden="true">
    ${lanes.map((lane) => html`<div key=${lane} class="lane"><i></i></div>`)}
  </div>`;
}

/** @param {{slot: Slot, now: number}} props */
function BarButton({ slot, now }) {
  const { bar, notice, work, tick, clusters } = slot;
  const sentence = barSentence(bar, now);
  const workState = `${bar.isExpected ? "expected" : ""} ${bar.isOpen ? "open" : ""}`;
  return html`<li class="slot" style=${slotStyle(slot)}>
    <button
      class="bar ${bar.standing}"
      aria-label=${sentence}
      title=${sentence}
      onClick=${() => openStory(bar.id)}
    >
      <span class="label">${barLabel(bar)}</span>
      <span class="strip">
        ${notice && html`<i class="notice" style=${px(notice)} />`}
        ${work && html`<i class="work ${workState}" style=${px(work)} />`}
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
function slotStyle({ left, width, row }) {
  return { width: `${width}px`, ...translate(left, row * ROW) };
}

/**
 * Position an element with a transform, because it moves as time passes. A transform
 * needs no new layout and does not count as a layout shift.
 * @param {number} left
 * @param {number} top
 */
function translate(left, top = 0) {
  return { transform: `translate(${left}px, ${top}px)` };
}

/** @param {Piece} piece */
function px({ left, width }) {
  return { left: `${left}px`, width: `${width}px` };
}
