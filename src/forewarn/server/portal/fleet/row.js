// One row of the fleet's grid, drawn again only if something in it has changed.

import { HostFace, hostOf } from "./hosts.js";
import { wordsOf } from "./fleet_index.js";
import { LETTERS, signOf } from "./marks.js";
import { cellsOf, fitted } from "./rows.js";
import { count, STANDINGS } from "../parts.js";
import { html, useMemo } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./marks.js").Marks} Marks */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./rows.js").Cell} Cell */

/**
 * @typedef {object} Look how squares are drawn, whichever they are
 * @property {boolean} isByHost
 * @property {Marks} marks
 * @property {{kind: "host" | "group", at: number} | null} lit whose VMs are lit
 * @property {number | null} host whose VMs come first
 * @property {number | null} vm which is chosen
 */

const HUES = 8; // of update domains

/**
 * @param {Look} look
 * @param {FleetIndex} index
 * @param {number} vm
 */
function isLit({ lit }, { map }, vm) {
  return lit !== null && map.vms[lit.kind][vm] === lit.at;
}

/**
 * Write down all that can change in a row: the same text, nothing to draw.
 * @param {FleetIndex} index
 * @param {Row} row
 * @param {Look} look
 */
export function signed(index, row, look) {
  const { map } = index;
  const { lit, host, vm, marks, isByHost } = look;
  const touched = row.vms.some((each) => isLit(look, index, each));
  const first = host !== null && row.vms.some((each) => map.vms.host[each] === host);
  const own = lit && !isByHost === (lit.kind === "group") && lit.at === row.at;
  return [
    signOf(row, map.vms.name, marks),
    touched ? `${lit?.kind}${lit?.at}` : "",
    first ? host : "",
    vm !== null && row.vms.includes(vm) ? vm : "",
    own ? "own" : "",
    isByHost && row.at >= 0 ? Object.values(hostOf(index, marks, row.at)) : "",
  ].join();
}

/**
 * @param {{index: FleetIndex, row: Row, look: Look, room: number, sign: string}} props
 */
export function ShownRow({ index, row, look, room, sign }) {
  const { isByHost } = look;
  const depends = [index, row.key, row.vms, row.total, isByHost, room, sign];
  return useMemo(() => drawn(index, row, look, room), depends);
}

/**
 * @param {FleetIndex} index
 * @param {Row} row
 * @param {Look} look
 * @param {number} room
 */
function drawn(index, row, look, room) {
  const { isByHost, host } = look;
  const isWide = isByHost || !index.isParted[row.at];
  const parts = isByHost ? together(row) : cellsOf(index, row.vms, host);
  const { cells, hidden } = fitted(parts, room);
  const Face = isByHost ? HostHead : GroupHead;
  return html`<div role="row" class="fleet-row" data-row="">
    <div role="rowheader" class="fleet-head">
      <${Face} index=${index} row=${row} look=${look} />
    </div>
    ${cells.map((cell) => drawnCell(index, cell, look, isWide))}
    ${!cells.length && html`<div role="cell" class="wide soft">no VMs</div>`}
    ${
      hidden > 0 &&
      html`<div role="cell" class="wide">
      <button
        class="quiet"
        data-stop=""
        data-more=${row.key}
        tabindex="-1"
        aria-label=${`Show more of ${count(hidden, "VM")} of ${row.name}`}
      >
        +${hidden.toLocaleString("en")}
      </button>
    </div>`
    }
  </div>`;
}

/**
 * @param {Row} row
 * @returns {Cell[]}
 */
function together({ vms }) {
  return vms.length ? [{ domain: null, vms }] : [];
}

/** @param {{index: FleetIndex, row: Row, look: Look}} props */
function GroupHead({ index, row, look }) {
  const group = index.map.groups[row.at];
  const { lit } = look;
  const isChosen = lit?.kind === "group" && lit.at === row.at;
  return html`<button
    class="plain"
    data-stop=""
    data-group=${row.at}
    tabindex="-1"
    aria-current=${isChosen ? "true" : undefined}
  >
    <span class="name" title=${row.name}>${row.name}</span>
    <span class="about">
      ${countOf(row)} · ${group?.kind}
      ${group?.is_silent && html` <span class="badge warn">silent</span>`}
    </span>
  </button>`;
}

/** @param {{index: FleetIndex, row: Row, look: Look}} props */
function HostHead({ index, row, look }) {
  if (row.at < 0) {
    return html`<span class="name">No host</span>
      <span class="about">${countOf(row)}</span>`;
  }
  const isChosen = look.host === row.at;
  return html`<button
    class="plain"
    data-stop=""
    data-host=${row.at}
    tabindex="-1"
    aria-current=${isChosen ? "true" : undefined}
  >
    <${HostFace} ...${hostOf(index, look.marks, row.at)} said=${countOf(row)} />
  </button>`;
}

/** @param {Row} row */
function countOf({ vms, total }) {
  if (vms.length === total) return count(total, "VM");
  return `${vms.length.toLocaleString("en")} of ${count(total, "VM")}`;
}

/**
 * @param {FleetIndex} index
 * @param {Cell} cell
 * @param {Look} look
 * @param {boolean} isWide
 */
function drawnCell(index, { domain, vms }, look, isWide) {
  const column = index.columns.indexOf(domain) + 2;
  const isUnparted = isWide && !look.isByHost && index.columns.length > 0;
  return html`<div
    role="cell"
    key=${String(domain)}
    class="fleet-cell ${isWide ? "wide" : ""}"
    style=${isWide ? {} : { gridColumn: String(column) }}
  >
    ${!isWide && html`<span class="label">${domain ?? "none"}</span>`}
    ${vms.map((vm) => square(index, vm, look))}
    ${isUnparted && html`<span class="unparted">no update domains</span>`}
  </div>`;
}

/**
 * @param {FleetIndex} index
 * @param {number} vm
 * @param {Look} look
 */
function square(index, vm, look) {
  const { vms } = index.map;
  const mark = look.marks.ofVm.get(vms.name[vm] ?? "");
  const domain = vms.update_domain[vm] ?? null;
  const words = wordsOf(index, vm) + (mark ? `, ${STANDINGS[mark]}` : "");
  const kinds = [
    "vm",
    mark ?? "",
    index.silence[vm] ?? "",
    vms.spot[vm] ? "spot" : "",
    isLit(look, index, vm) ? "lit" : "",
    look.isByHost && domain !== null ? `ud-${domain % HUES}` : "",
  ];
  return html`<button
    key=${vm}
    class=${kinds.filter(Boolean).join(" ")}
    data-stop=""
    data-vm=${vm}
    tabindex="-1"
    title=${words}
    aria-label=${words}
    aria-current=${look.vm === vm ? "true" : undefined}
    data-mark=${mark && LETTERS[mark]}
  >
    ${look.isByHost && domain}
  </button>`;
}
