// The timeline as a table, for those to whom a picture tells nothing.

import { few, Standing, titleOf } from "../components.js";
import { openStory } from "../route.js";
import { local, utc } from "../times.js";
import { html } from "../view.js";
import { More } from "./controls.js";
import { laneTitle, lengthOf, namesOf } from "./phrases.js";

/** @typedef {import("./chart.js").Shown} Shown */
/** @typedef {import("./bars.js").Bar} Bar */
/** @typedef {import("./bars.js").Mark} Mark */

const HEADS = [
  "Maintenance",
  "Standing",
  "Announced",
  "Not before",
  "Started",
  "Ended",
  "Length",
  "Approved by",
  "Seen by",
];

const NONE = "–";

/** @param {Shown} props */
export function LaneTable({ choice, lanes, now, isReady, children }) {
  const { by, most } = choice;
  const rows = lanes.flatMap(({ name, bars }) => bars.map((bar) => ({ name, bar })));
  const shown = rows.slice(0, most);
  const lane = by === "host" ? "Host" : "Group";
  // roles are written out: what is laid out as blocks would lose those it has
  return html`<table class="lanetable card" role="table" aria-busy=${!isReady}>
      <caption class="hidden">What happens in this time</caption>
      <thead role="rowgroup">
        <tr role="row">
          ${[lane, ...HEADS].map(
            (each) =>
              html`<th key=${each} role="columnheader" scope="col">${each}</th>`,
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
    when(maintenance.announced_at, now),
    when(maintenance.not_before, now),
    when(maintenance.started_at, now),
    when(maintenance.ended_at, now),
    lengthOf(bar),
    who(bar.marks, "approved"),
    who(bar.marks, "seen"),
  ];
  return html`<tr role="row">
    <td role="cell" data-head=${lane}>${title}</td>
    <th role="rowheader" scope="row" data-head=${HEADS[0]}>
      <button class="quiet" onClick=${() => openStory(bar.id)}>
        ${titleOf(maintenance)}
      </button>
    </th>
    ${cells.map(
      (each, index) => html`<td
        key=${index}
        role="cell"
        class=${each === NONE ? "none" : ""}
        data-head=${HEADS[index + 1]}
      >
        ${each}
      </td>`,
    )}
  </tr>`;
}

/**
 * @param {string | null} at
 * @param {number} now
 */
function when(at, now) {
  if (at === null) return NONE;
  return html`<time datetime=${at} title=${utc(at)}>${local(at, now)}</time>`;
}

/**
 * @param {Mark[]} marks
 * @param {Mark["kind"]} kind
 */
function who(marks, kind) {
  return few(namesOf(marks.filter((each) => each.kind === kind))) || NONE;
}
