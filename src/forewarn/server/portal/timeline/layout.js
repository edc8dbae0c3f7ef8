// Layout of the bars in a lane, in px; bars that would overlap are stacked.

import { positionOf } from "./scale.js";

/** @typedef {import("./bars.js").Bar} Bar */
/** @typedef {import("./bars.js").Mark} Mark */
/** @typedef {import("./scale.js").TimeRange} TimeRange */

/** @typedef {{left: number, width: number}} Piece in px from the slot's left */
/** @typedef {{left: number, kind: Mark["kind"], marks: Mark[]}} Cluster */

/**
 * @typedef {object} Slot
 * @property {Bar} bar
 * @property {number} row from the top
 * @property {number} left
 * @property {number} width including the label, which may be wider than the bar
 * @property {Piece | null} notice null if it is outside the range
 * @property {Piece | null} work
 * @property {number | null} tick of NotBefore
 * @property {Cluster[]} clusters of marks
 */

const LABEL_WIDTH = 160; // maximum px of a label, even on a short bar
const LABEL_SHARE = 0.4; // maximum share of the chart's width that a label takes
const SLOT_GAP = 6; // px between two slots of a row
const THINNEST = 3; // px of a bar
const NARROWEST = 14; // px of a bar that has room for marks
const MARK_GAP = 9; // px between two separate marks

/**
 * Stack the bars of a lane.
 * @param {Bar[]} bars those that come first get the upper rows
 * @param {TimeRange} range
 * @param {number} width in px
 * @param {number} most rows
 * @returns {{slots: Slot[], rows: number, hidden: number}} slots in order of time;
 *   `hidden`: number of bars without room
 */
export function stackBars(bars, range, width, most) {
  /** @type {Slot[][]} */
  const rows = [];
  let hidden = 0;
  for (const bar of bars) {
    const slot = slotOf(bar, range, width);
    const free = rows.findIndex((row) => !row.some((other) => overlap(other, slot)));
    slot.row = free < 0 ? rows.length : free;
    if (slot.row >= most) hidden += 1;
    else (rows[slot.row] ??= []).push(slot);
  }
  const slots = rows.flat().sort((a, b) => a.bar.from - b.bar.from);
  return { slots, rows: rows.length, hidden };
}

/**
 * Return the slot of a bar in the first row.
 * @param {Bar} bar
 * @param {TimeRange} range
 * @param {number} width
 * @returns {Slot}
 */
export function slotOf(bar, range, width) {
  const position = (/** @type {number} */ at) => positionOf(at, range, width);
  const start = Math.max(position(bar.from), 0);
  const label = Math.min(LABEL_WIDTH, width * LABEL_SHARE);
  const left = Math.max(Math.min(start, width - label), 0);
  const right = Math.max(Math.min(position(bar.to), width), left + label);
  const offset = (/** @type {number} */ at) => position(at) - left;
  const cut = (/** @type {number} */ from, /** @type {number} */ to) =>
    pieceOf(position(from), position(to), width, left);
  const isInside = (/** @type {number} */ px) => px >= -left && px <= width - left;
  const isVisible = (/** @type {Cluster} */ { left: px }) => isInside(px);
  const isWide = position(bar.to) - position(bar.from) >= NARROWEST;
  const tick = offset(bar.notBefore);
  return {
    bar,
    row: 0,
    left,
    width: right - left,
    notice: cut(bar.from, bar.work ?? bar.to),
    work: bar.work === null ? null : cut(bar.work, bar.to),
    tick: isInside(tick) && bar.notBefore <= bar.to ? tick : null,
    clusters: isWide ? clusterMarks(bar.marks, offset).filter(isVisible) : [],
  };
}

/**
 * Cut a piece to the visible part.
 * @param {number} from
 * @param {number} to
 * @param {number} width of the chart
 * @param {number} origin the slot's left
 * @returns {Piece | null} null if it is not visible
 */
function pieceOf(from, to, width, origin) {
  if (to < 0 || from > width) return null;
  const left = Math.min(Math.max(from, 0), width - THINNEST);
  const right = Math.max(Math.min(to, width), left + THINNEST);
  return { left: left - origin, width: right - left };
}

/**
 * @param {Slot} a
 * @param {Slot} b
 */
function overlap(a, b) {
  return a.left < b.left + b.width + SLOT_GAP && b.left < a.left + a.width + SLOT_GAP;
}

/**
 * Combine marks of one kind that are too close to each other.
 * @param {Mark[]} marks in order of time
 * @param {(at: number) => number} offset in px
 * @returns {Cluster[]}
 */
export function clusterMarks(marks, offset) {
  /** @type {Cluster[]} */
  const clusters = [];
  /** @type {Partial<Record<Mark["kind"], Cluster>>} */
  const last = {};
  for (const mark of marks) {
    const left = offset(mark.at);
    const near = last[mark.kind];
    if (near && left - near.left < MARK_GAP) near.marks.push(mark);
    else clusters.push((last[mark.kind] = { left, kind: mark.kind, marks: [mark] }));
  }
  return clusters;
}
