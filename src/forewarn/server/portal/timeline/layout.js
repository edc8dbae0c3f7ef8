// Where in its lane each bar is drawn, in px: bars that would overlap are stacked.

import { placeOf } from "./scale.js";

/** @typedef {import("./bars.js").Bar} Bar */
/** @typedef {import("./bars.js").Mark} Mark */
/** @typedef {import("./scale.js").Stretch} Stretch */

/** @typedef {{left: number, width: number}} Piece in px from the slot's left */
/** @typedef {{left: number, kind: Mark["kind"], marks: Mark[]}} Cluster */

/**
 * @typedef {object} Slot
 * @property {Bar} bar
 * @property {number} row from above
 * @property {number} left
 * @property {number} width with the label, which may need more than the bar
 * @property {Piece | null} notice null: not in sight
 * @property {Piece | null} work
 * @property {number | null} tick of NotBefore
 * @property {Cluster[]} clusters of marks
 */

const LABEL = 160; // px that a label may have, however short its bar
const LABELS_SHARE = 0.4; // of the width that it may have at most
const BETWEEN = 6; // px between two slots of a row
const THINNEST = 3; // px of a bar
const NARROWEST = 14; // px of a bar that marks would not cover
const BESIDE = 9; // px between two marks that can be told apart

/**
 * Stack the bars of a lane.
 * @param {Bar[]} bars those that come first get the upper rows
 * @param {Stretch} stretch
 * @param {number} width in px
 * @param {number} most rows
 * @returns {{slots: Slot[], rows: number, hidden: number}} in order of time; `hidden`:
 *   how many found no room
 */
export function stacked(bars, stretch, width, most) {
  /** @type {Slot[][]} */
  const rows = [];
  let hidden = 0;
  for (const bar of bars) {
    const slot = slotOf(bar, stretch, width);
    const free = rows.findIndex((row) => !row.some((each) => overlap(each, slot)));
    slot.row = free < 0 ? rows.length : free;
    if (slot.row >= most) hidden += 1;
    else (rows[slot.row] ??= []).push(slot);
  }
  const slots = rows.flat().sort((one, other) => one.bar.from - other.bar.from);
  return { slots, rows: rows.length, hidden };
}

/**
 * Find where a bar is drawn, in the first row.
 * @param {Bar} bar
 * @param {Stretch} stretch
 * @param {number} width
 * @returns {Slot}
 */
export function slotOf(bar, stretch, width) {
  const place = (/** @type {number} */ at) => placeOf(at, stretch, width);
  const begin = Math.max(place(bar.from), 0);
  const label = Math.min(LABEL, width * LABELS_SHARE);
  const left = Math.max(Math.min(begin, width - label), 0);
  const right = Math.max(Math.min(place(bar.to), width), left + label);
  const own = (/** @type {number} */ at) => place(at) - left;
  const cut = (/** @type {number} */ from, /** @type {number} */ to) =>
    pieceOf(place(from), place(to), width, left);
  const isInside = (/** @type {number} */ px) => px >= -left && px <= width - left;
  const isInSight = (/** @type {Cluster} */ { left: px }) => isInside(px);
  const isWide = place(bar.to) - place(bar.from) >= NARROWEST;
  const tick = own(bar.notBefore);
  return {
    bar,
    row: 0,
    left,
    width: right - left,
    notice: cut(bar.from, bar.work ?? bar.to),
    work: bar.work === null ? null : cut(bar.work, bar.to),
    tick: isInside(tick) && bar.notBefore <= bar.to ? tick : null,
    clusters: isWide ? clustered(bar.marks, own).filter(isInSight) : [],
  };
}

/**
 * Cut a piece to what is in sight.
 * @param {number} from
 * @param {number} to
 * @param {number} width of all that is in sight
 * @param {number} origin the slot's left
 * @returns {Piece | null}
 */
function pieceOf(from, to, width, origin) {
  if (to < 0 || from > width) return null;
  const left = Math.min(Math.max(from, 0), width - THINNEST);
  const right = Math.max(Math.min(to, width), left + THINNEST);
  return { left: left - origin, width: right - left };
}

/**
 * @param {Slot} one
 * @param {Slot} other
 */
function overlap(one, other) {
  return (
    one.left < other.left + other.width + BETWEEN &&
    other.left < one.left + one.width + BETWEEN
  );
}

/**
 * Draw marks of one kind as one where they could not be told apart.
 * @param {Mark[]} marks in order of time
 * @param {(at: number) => number} place
 * @returns {Cluster[]}
 */
export function clustered(marks, place) {
  /** @type {Cluster[]} */
  const clusters = [];
  /** @type {Partial<Record<Mark["kind"], Cluster>>} */
  const last = {};
  for (const mark of marks) {
    const left = place(mark.at);
    const near = last[mark.kind];
    if (near && left - near.left < BESIDE) near.marks.push(mark);
    else clusters.push((last[mark.kind] = { left, kind: mark.kind, marks: [mark] }));
  }
  return clusters;
}
