// The fleet's grid: a row for each group or host, a square for each VM.

import { useArrows } from "./keys.js";
import { signed, ShownRow } from "./row.js";
import { MOST, rowsFor } from "./rows.js";
import { count } from "../parts.js";
import { html, useEffect, useMemo, useRef, useState } from "../view.js";

/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */
/** @typedef {import("./row.js").Look} Look */
/** @typedef {import("./rows.js").Row} Row */
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
