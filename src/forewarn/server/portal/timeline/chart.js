// The timeline as a picture: an axis, a line for now, lanes with bars.
// One maintenance on the timeline: its notice, its work, NotBefore, and marks.

import { openStory } from "../route.js";
import { utc } from "../times.js";
import { html, useLayoutEffect, useNow, useRef, useState } from "../view.js";
import { Legend, More } from "./controls.js";
import { firstLanes } from "./lanes.js";
import { stacked } from "./layout.js";
import { useMoves } from "./navigation.js";
import { labelOf, laneTitle, markTitle, sentenceOf } from "./phrases.js";
import { placeOf, ticksOf } from "./scale.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").Stretch} Stretch */
/** @typedef {import("./scale.js").Tick} Tick */
/** @typedef {import("./lanes.js").By} By */
/** @typedef {import("./layout.js").Slot} Slot */
/** @typedef {import("./layout.js").Piece} Piece */

/** @typedef {{current: HTMLElement | null}} Ref */

/**
 * @typedef {object} Shown
 * @property {Choice} choice
 * @property {import("./lanes.js").Lane[]} lanes
 * @property {Stretch} stretch
 * @property {number} now
 * @property {boolean} isReady
 * @property {import("preact").ComponentChildren} children what is said instead of lanes
 */

const ROW = 36; // px
const SKELETON = 6; // lanes drawn while nothing is known
const BARS_A_LANE = 5; // drawn at once, on average
const MOST_ROWS = 6; // of a lane, unless all are asked for

const WITH_SECONDS = 10 * 60_000; // ms: below this the axis tells seconds
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECOND = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });

/** @param {Shown} props */
export function Chart({ choice, lanes, stretch, now, isReady, children }) {
  const chart = useRef(/** @type {HTMLElement | null} */ (null));
  const track = useRef(/** @type {HTMLElement | null} */ (null));
  const width = useWidth(track);
  useHeader(chart);
  useMoves(chart, track, choice, now);
  const { by, most } = choice;
  const shown = width ? firstLanes(lanes, most, most * BARS_A_LANE) : [];
  const props = { by, stretch, width, now };
  return html`<${Legend} />
    <div class="chart card" ref=${chart}>
      <${Axis} stretch=${stretch} width=${width} track=${track} isReady=${isReady} />
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
 * Know how wide an element is.
 * @param {Ref} of
 */
function useWidth(of) {
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = of.current;
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
 * Let the axis stay in sight below what stays at the top of the page.
 * @param {Ref} chart
 */
function useHeader(chart) {
  useLayoutEffect(() => {
    const header = document.querySelector("header");
    if (!header) return undefined;
    const observer = new ResizeObserver(() => {
      const isFixed = getComputedStyle(header).position === "sticky";
      const height = isFixed ? header.offsetHeight : 0;
      chart.current?.style.setProperty("--below-header", `${height}px`);
    });
    observer.observe(header);
    return () => observer.disconnect();
  }, []);
}

/**
 * @param {{stretch: Stretch, width: number, track: Ref, isReady: boolean}} props
 */
function Axis({ stretch, width, track, isReady }) {
  const ticks = isReady && width ? ticksOf(stretch, width) : [];
  const placed = ticks.map((tick) => ({
    ...tick,
    style: moved(placeOf(tick.at, stretch, width)),
  }));
  return html`<div class="axis" aria-hidden="true">
      <div class="ticks" ref=${track}>
        ${placed.map(
          ({ at, isDay, style }) => html`<time
            key=${at}
            class=${isDay ? "day" : ""}
            style=${style}
            title=${utc(at)}
            >${axisLabel(at, isDay, stretch)}</time
          >`,
        )}
        ${isReady && html`<${NowSign} stretch=${stretch} width=${width} />`}
      </div>
    </div>
    <div class="plot" aria-hidden="true">
      ${placed.map(
        ({ at, style }) => html`<i key=${at} class="grid" style=${style} />`,
      )}
      ${isReady && html`<${NowLine} stretch=${stretch} width=${width} />`}
    </div>`;
}

/**
 * @param {number} at
 * @param {boolean} isDay
 * @param {Stretch} stretch
 */
function axisLabel(at, isDay, { from, to }) {
  if (isDay) return DAY.format(at);
  return (to - from < WITH_SECONDS ? SECOND : MINUTE).format(at);
}

/**
 * The present, which goes on by the service's clock.
 * @param {{stretch: Stretch, width: number}} props
 */
function NowLine({ stretch, width }) {
  const left = placeOf(useNow(), stretch, width);
  const past = `${Math.min(Math.max(left, 0), width)}px`;
  return html`<i class="past" style=${{ width: past }} />
    ${isInside(left, width) && html`<i class="now" style=${moved(left)} />`}`;
}

/**
 * The name of that line, on the axis.
 * @param {{stretch: Stretch, width: number}} props
 */
function NowSign({ stretch, width }) {
  const now = useNow();
  const left = placeOf(now, stretch, width);
  if (!isInside(left, width)) return null;
  return html`<b style=${moved(left)} title=${utc(now)}><span>now</span></b>`;
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
 * @property {Stretch} stretch
 * @property {number} width
 * @property {number} now
 */

/** @param {Row} props */
function LaneRow({ name, bars, by, stretch, width, now }) {
  const [isWhole, setWhole] = useState(false);
  const most = isWhole ? Infinity : MOST_ROWS;
  const { slots, rows, hidden } = stacked(bars, stretch, width, most);
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
      ${isWhole ? "Show fewer" : `Show ${hidden} more of ${title}`}
    </button>`
    }
  </li>`;
}

/** As much room as lanes will need. */
function Skeleton() {
  const lanes = [...Array(SKELETON).keys()];
  return html`<div class="skeleton" aria-hidden="true">
    ${lanes.map((each) => html`<div key=${each} class="lane"><i></i></div>`)}
  </div>`;
}

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
