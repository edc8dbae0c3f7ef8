// The fleet's grid: a row for each group or host, a square for each VM.
// One row of the fleet's grid, drawn again only if something in it has changed.

import { count, STANDINGS } from "../components.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { useArrows } from "./arrow_keys.js";
import { wordsOf } from "./fleet_index.js";
import { HostFace, hostOf } from "./hosts.js";
import { LETTERS, signOf } from "./marks.js";
import { cellsOf, fitted, MOST, rowsFor } from "./rows.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./marks.js").Marks} Marks */
/** @typedef {import("./rows.js").Cell} Cell */

/** @typedef {(kind: "vm" | "group" | "host", at: number) => void} Choose */

const AT_FIRST = 600; // what is drawn at once, in squares
const MORE = 1000;

/**
 * @param {{
 *   index: FleetIndex,
 *   rows: Row[],
 *   wished: string,
 *   look: Look,
 *   choose: Choose,
 *   point: (host: number | null) => void,
 * }} props `wished`: what the rows answer; with another one it begins at the top
 */
export function Grid({ index, rows, wished, look, choose, point }) {
  const [grown, setGrown] = useState({ wished, cost: AT_FIRST });
  const cost = grown.wished === wished ? grown.cost : AT_FIRST;
  const [rooms, setRooms] = useState(/** @type {Record<string, number>} */ ({}));
  const arrows = useArrows();
  const number = useMemo(() => rowsFor(rows, cost), [rows, cost]);
  const more = (/** @type {string} */ key) =>
    setRooms((all) => ({ ...all, [key]: (all[key] ?? MOST) + MORE }));
  const columns = look.isByHost ? [] : index.columns;
  const style = { "--columns": Math.max(columns.length, 1) };
  return html`<div
      class="fleet-grid ${look.lit ? "lighting" : ""} ${look.isByHost ? "by-host" : ""}"
      role="table"
      aria-label=${look.isByHost ? "VMs by host" : "VMs by group and update domain"}
      aria-rowcount=${rows.length + 1}
      style=${style}
      onClick=${chosen(choose, more)}
      onMouseOver=${pointed(point)}
      onMouseLeave=${() => point(null)}
      ...${arrows}
    >
      <${Heads} columns=${columns} isByHost=${look.isByHost} />
      ${rows.slice(0, number).map((row) => {
        const room = rooms[row.key] ?? MOST;
        return html`<${ShownRow}
          key=${row.key}
          ...${{ index, row, look, room, sign: signed(index, row, look) }}
        />`;
      })}
    </div>
    <${Rest}
      key=${wished}
      left=${rows.length - number}
      noun=${look.isByHost ? "host" : "group"}
      number=${number}
      more=${() => setGrown({ wished, cost: cost + MORE })}
    />`;
}

/**
 * @param {Choose} choose
 * @param {(key: string) => void} more
 */
function chosen(choose, more) {
  return (/** @type {MouseEvent} */ event) => {
    if (!(event.target instanceof Element)) return;
    const button = event.target.closest("button");
    const { vm, group, host, more: key } = button?.dataset ?? {};
    if (key !== undefined) more(key);
    else if (vm !== undefined) choose("vm", Number(vm));
    else if (group !== undefined) choose("group", Number(group));
    else if (host !== undefined) choose("host", Number(host));
  };
}

/** @param {(host: number | null) => void} point */
function pointed(point) {
  return (/** @type {MouseEvent} */ event) => {
    if (!(event.target instanceof Element)) return;
    const { host } = event.target.closest("button")?.dataset ?? {};
    point(host === undefined ? null : Number(host));
  };
}

/** @param {{columns: (number | null)[], isByHost: boolean}} props */
function Heads({ columns, isByHost }) {
  const one = isByHost || !columns.length;
  return html`<div role="row" class="fleet-heads">
    <div role="columnheader">${isByHost ? "Host" : "Group"}</div>
    ${
      one
        ? html`<div role="columnheader" class="wide">VMs</div>`
        : columns.map(
            (domain) => html`<div
            role="columnheader"
            key=${String(domain)}
            title=${`update domain ${domain ?? "none"}`}
          >
            UD ${domain ?? "none"}
          </div>`,
          )
    }
  </div>`;
}

/**
 * Rows that come while one scrolls, or by the button.
 * @param {{left: number, noun: string, number: number, more: () => void}} props
 */
function Rest({ left, noun, number, more }) {
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!button.current) return undefined;
    const watch = new IntersectionObserver(
      (seen) => seen.some((each) => each.isIntersecting) && more(),
      { rootMargin: "400px" },
    );
    watch.observe(button.current);
    return () => watch.disconnect();
  }, [number, left]);
  if (!left) return null;
  return html`<button class="fleet-rest" ref=${button} onClick=${more}>
    Show more of ${count(left, noun)}
  </button>`;
}

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
