// Fleet grid: a row for each group or host, and a square for each VM. A row is redrawn
// only if something in it has changed.

import { count, STANDINGS } from "../components.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";
import { useArrowKeys } from "./arrow_keys.js";
import { vmLabel } from "./fleet_index.js";
import { HostLabel, summarizeHost } from "./hosts.js";
import { LETTERS, marksKey } from "./marks.js";
import { cellsOf, fitCells, MOST_SQUARES, rowsFor } from "./rows.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./rows.js").Row} Row */
/** @typedef {import("./marks.js").Marks} Marks */
/** @typedef {import("./rows.js").Cell} Cell */

/** @typedef {(kind: "vm" | "group" | "host", at: number) => void} Choose */

const FIRST_COST = 600; // drawn at once, in squares
const MORE_COST = 1000;
const HUES = 8; // colors of update domains

/**
 * @param {{
 *   index: FleetIndex,
 *   rows: Row[],
 *   filterKey: string,
 *   look: Look,
 *   choose: Choose,
 *   hover: (host: number | null) => void,
 * }} props `filterKey`: identifies the filter; a new filter returns to the top
 */
export function Grid({ index, rows, filterKey, look, choose, hover }) {
  const [grown, setGrown] = useState({ filterKey, cost: FIRST_COST });
  const cost = grown.filterKey === filterKey ? grown.cost : FIRST_COST;
  const [rooms, setRooms] = useState(/** @type {Record<string, number>} */ ({}));
  const arrows = useArrowKeys();
  const drawn = useMemo(() => rowsFor(rows, cost), [rows, cost]);
  const more = (/** @type {string} */ key) =>
    setRooms((all) => ({ ...all, [key]: (all[key] ?? MOST_SQUARES) + MORE_COST }));
  const columns = look.isByHost ? [] : index.columns;
  const style = { "--columns": Math.max(columns.length, 1) };
  return html`<div
      class=${gridClass(look)}
      role="table"
      aria-label=${look.isByHost ? "VMs by host" : "VMs by group and update domain"}
      aria-rowcount=${rows.length + 1}
      style=${style}
      onClick=${onClick(choose, more)}
      onMouseOver=${onMouseOver(hover)}
      onMouseLeave=${() => hover(null)}
      ...${arrows}
    >
      <${Headings} columns=${columns} isByHost=${look.isByHost} />
      ${rows.slice(0, drawn).map((row) => {
        const room = rooms[row.key] ?? MOST_SQUARES;
        return html`<${GridRow}
          key=${row.key}
          ...${{ index, row, look, room, sign: rowKey(index, row, look) }}
        />`;
      })}
    </div>
    <${Rest}
      key=${filterKey}
      left=${rows.length - drawn}
      noun=${look.isByHost ? "host" : "group"}
      drawn=${drawn}
      more=${() => setGrown({ filterKey, cost: cost + MORE_COST })}
    />`;
}

/** @param {Look} look */
function gridClass({ highlight, isByHost }) {
  return `fleet-grid ${highlight ? "lighting" : ""} ${isByHost ? "by-host" : ""}`;
}

/**
 * @param {Choose} choose
 * @param {(key: string) => void} more
 */
function onClick(choose, more) {
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

/** @param {(host: number | null) => void} hover */
function onMouseOver(hover) {
  return (/** @type {MouseEvent} */ event) => {
    if (!(event.target instanceof Element)) return;
    const { host } = event.target.closest("button")?.dataset ?? {};
    hover(host === undefined ? null : Number(host));
  };
}

/** @param {{columns: (number | null)[], isByHost: boolean}} props */
function Headings({ columns, isByHost }) {
  const isSingle = isByHost || !columns.length;
  return html`<div role="row" class="fleet-heads">
    <div role="columnheader">${isByHost ? "Host" : "Group"}</div>
    ${
      isSingle
        ? html`<div role="columnheader" class="wide">VMs</div>`
        : columns.map(
            (domain) => html`<div
            role="columnheader"
            key=${String(domain)}
            title=${domain === null ? "no update domain" : `update domain ${domain}`}
          >
            ${domain === null ? "No UD" : `UD ${domain}`}
          </div>`,
          )
    }
  </div>`;
}

/**
 * Draws more rows when the user scrolls down or presses the button.
 * @param {{left: number, noun: string, drawn: number, more: () => void}} props
 */
function Rest({ left, noun, drawn, more }) {
  const button = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (!button.current) return undefined;
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && more(),
      { rootMargin: "400px" },
    );
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [drawn, left]);
  if (!left) return null;
  return html`<button class="fleet-rest" ref=${button} onClick=${more}>
    Show more (${count(left, noun)} hidden)
  </button>`;
}

/**
 * @typedef {object} Look how rows and squares are drawn
 * @property {boolean} isByHost
 * @property {Marks} marks
 * @property {{kind: "host" | "group", at: number} | null} highlight
 * @property {number | null} host the host whose VMs come first; null for none
 * @property {number | null} vm the selected VM; null for none
 */

/**
 * @param {Look} look
 * @param {FleetIndex} index
 * @param {number} vm
 */
function isHighlighted({ highlight }, { map }, vm) {
  return highlight !== null && map.vms[highlight.kind][vm] === highlight.at;
}

/**
 * Return a key that changes if and only if the row must be redrawn.
 * @param {FleetIndex} index
 * @param {Row} row
 * @param {Look} look
 */
function rowKey(index, row, look) {
  const { map } = index;
  const { highlight, host, vm, marks, isByHost } = look;
  const hasHighlight = row.vms.some((id) => isHighlighted(look, index, id));
  const isFirst = host !== null && row.vms.some((id) => map.vms.host[id] === host);
  const isOwnKind = highlight && !isByHost === (highlight.kind === "group");
  const isOwn = isOwnKind && highlight.at === row.at;
  return [
    marksKey(row, map.vms.name, marks),
    hasHighlight ? `${highlight?.kind}${highlight?.at}` : "",
    isFirst ? host : "",
    vm !== null && row.vms.includes(vm) ? vm : "",
    isOwn ? "own" : "",
    isByHost && row.at >= 0 ? Object.values(summarizeHost(index, marks, row.at)) : "",
  ].join();
}

/**
 * @param {{index: FleetIndex, row: Row, look: Look, room: number, sign: string}} props
 */
function GridRow({ index, row, look, room, sign }) {
  const { isByHost } = look;
  const depends = [index, row.key, row.vms, row.total, isByHost, room, sign];
  return useMemo(() => drawRow(index, row, look, room), depends);
}

/**
 * @param {FleetIndex} index
 * @param {Row} row
 * @param {Look} look
 * @param {number} room
 */
function drawRow(index, row, look, room) {
  const { isByHost, host } = look;
  const isWide = isByHost || !index.hasDomains[row.at];
  const all = isByHost ? singleCell(row) : cellsOf(index, row.vms, host);
  const { cells, hidden } = fitCells(all, room);
  const Heading = isByHost ? HostHeading : GroupHeading;
  return html`<div role="row" class="fleet-row" data-row="">
    <div role="rowheader" class="fleet-head">
      <${Heading} index=${index} row=${row} look=${look} />
    </div>
    ${cells.map((cell) => drawCell(index, cell, look, isWide))}
    ${!cells.length && html`<div role="cell" class="wide soft">no VMs</div>`}
    ${
      hidden > 0 &&
      html`<div role="cell" class="wide">
      <button
        class="quiet"
        data-stop=""
        data-more=${row.key}
        tabindex="-1"
        aria-label=${`Show more VMs in ${row.name} (${hidden} hidden)`}
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
function singleCell({ vms }) {
  return vms.length ? [{ domain: null, vms }] : [];
}

/** @param {{index: FleetIndex, row: Row, look: Look}} props */
function GroupHeading({ index, row, look }) {
  const group = index.map.groups[row.at];
  const { highlight } = look;
  const isChosen = highlight?.kind === "group" && highlight.at === row.at;
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
      ${group?.is_disabled && html` <span class="badge warn">disabled</span>`}
    </span>
  </button>`;
}

/** @param {{index: FleetIndex, row: Row, look: Look}} props */
function HostHeading({ index, row, look }) {
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
    <${HostLabel}
      ...${summarizeHost(index, look.marks, row.at)}
      vmCount=${countOf(row)}
    />
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
function drawCell(index, { domain, vms }, look, isWide) {
  const column = index.columns.indexOf(domain) + 2;
  const lacksDomains = isWide && !look.isByHost && index.columns.length > 0;
  return html`<div
    role="cell"
    key=${String(domain)}
    class="fleet-cell ${isWide ? "wide" : ""}"
    style=${isWide ? {} : { gridColumn: String(column) }}
  >
    ${!isWide && html`<span class="label">${domain ?? "none"}</span>`}
    ${vms.map((vm) => drawSquare(index, vm, look))}
    ${lacksDomains && html`<span class="unparted">no update domains</span>`}
  </div>`;
}

/**
 * @param {FleetIndex} index
 * @param {number} vm
 * @param {Look} look
 */
function drawSquare(index, vm, look) {
  const { vms } = index.map;
  const mark = look.marks.ofVm.get(vms.name[vm] ?? "");
  const domain = vms.update_domain[vm] ?? null;
  const label = vmLabel(index, vm) + (mark ? `, ${STANDINGS[mark]}` : "");
  const classes = [
    "vm",
    mark ?? "",
    index.silence[vm] ?? "",
    vms.spot[vm] ? "spot" : "",
    isHighlighted(look, index, vm) ? "lit" : "",
    look.isByHost && domain !== null ? `ud-${domain % HUES}` : "",
  ];
  return html`<button
    key=${vm}
    class=${classes.filter(Boolean).join(" ")}
    data-stop=""
    data-vm=${vm}
    tabindex="-1"
    title=${label}
    aria-label=${label}
    aria-current=${look.vm === vm ? "true" : undefined}
    data-mark=${mark && LETTERS[mark]}
  >
    ${look.isByHost && domain}
  </button>`;
}
