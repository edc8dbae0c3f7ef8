// The timeline as a table, for screen readers and for users who prefer text.

import { few, Standing, titleOf } from "../components.js";
import { openStory } from "../route.js";
import { local, utc } from "../times.js";
import { html } from "../view.js";
import { More } from "./controls.js";
import { durationOf, laneTitle, namesOf } from "./phrases.js";

/** @typedef {import("./chart.js").PictureProps} PictureProps */
/** @typedef {import("./bars.js").Bar} Bar */
/** @typedef {import("./bars.js").Mark} Mark */

const HEADINGS = [
  "Maintenance",
  "Status",
  "Announced",
  "Not before",
  "Started",
  "Ended",
  "Duration",
  "Approved by",
  "Seen by",
];

const NONE = "–";

/** @param {PictureProps} props */
export function LaneTable({ choice, lanes, now, isReady, children }) {
  const { by, most } = choice;
  const rows = lanes.flatMap(({ name, bars }) => bars.map((bar) => ({ name, bar })));
  const shown = rows.slice(0, most);
  const lane = by === "host" ? "Host" : "Group";
  // explicit roles: on narrow screens the table is laid out as blocks, and would lose
  // its implicit roles
  return html`<table class="lanetable card" role="table" aria-busy=${!isReady}>
      <caption class="hidden">Maintenance in this period</caption>
      <thead role="rowgroup">
        <tr role="row">
          ${[lane, ...HEADINGS].map(
            (heading) =>
              html`<th key=${heading} role="columnheader" scope="col">${heading}</th>`,
          )}
        </tr>
      </thead>
      <tbody role="rowgroup">
        ${shown.map(({ name, bar }) => {
          const key = `${name} ${bar.id}`;
          const props = { lane, title: laneTitle(name, by), bar, now };
          return html`<${BarRow} key=${key} ...${props} />`;
        })}
      </tbody>
    </table>
    ${children}
    <${More} choice=${choice} shown=${shown.length} all=${rows.length} noun="row" />`;
}

/** @param {{lane: string, title: string, bar: Bar, now: number}} props */
function BarRow({ lane, title, bar, now }) {
  const { maintenance } = bar.item;
  const cells = [
    html`<${Standing} item=${bar.item} />`,
    timeCell(maintenance.announced_at, now),
    timeCell(maintenance.not_before, now),
    timeCell(maintenance.started_at, now),
    timeCell(maintenance.ended_at, now),
    durationOf(bar),
    namesCell(bar.marks, "approved"),
    namesCell(bar.marks, "seen"),
  ];
  return html`<tr role="row">
    <td role="cell" data-head=${lane}>${title}</td>
    <th role="rowheader" scope="row" data-head=${HEADINGS[0]}>
      <button class="quiet" onClick=${() => openStory(bar.id)}>
        ${titleOf(maintenance)}
      </button>
    </th>
    ${cells.map(
      (cell, index) => html`<td
        key=${index}
        role="cell"
        class=${cell === NONE ? "none" : ""}
        data-head=${HEADINGS[index + 1]}
      >
        ${cell}
      </td>`,
    )}
  </tr>`;
}

/**
 * @param {string | null} at
 * @param {number} now
 */
function timeCell(at, now) {
  if (at === null) return NONE;
  return html`<time datetime=${at} title=${utc(at)}>${local(at, now)}</time>`;
}

/**
 * @param {Mark[]} marks
 * @param {Mark["kind"]} kind
 */
function namesCell(marks, kind) {
  return few(namesOf(marks.filter((mark) => mark.kind === kind))) || NONE;
}
