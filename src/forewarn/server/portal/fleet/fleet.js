// Fleet page: hosts, groups and update domains, and the impact of host maintenance.

import { standingOf } from "../components.js";
import { FirstVisit } from "../first_visit.js";
import {
  html,
  useApp,
  useEffect,
  useLayoutEffect,
  useMemo,
  useModel,
  useRef,
  useState,
} from "../view.js";
import { Details, positionOf } from "./details.js";
import { indexOf } from "./fleet_index.js";
import { Grid } from "./grid.js";
import { Hosts } from "./hosts.js";
import { ImpactBar } from "./impact.js";
import { Legend, marksOf } from "./marks.js";
import { rowsByGroup, rowsByHost } from "./rows.js";
import { search, SearchBar } from "./search.js";

/** @typedef {import("../types").FleetMap} FleetMap */
/** @typedef {import("./details.js").Chosen} Chosen */
/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */

const REFRESH = 60_000; // ms; last requests and disabled groups are not in the journal

export function FleetPage() {
  const { live } = useApp();
  const { fleet, isLoaded } = useModel();
  // live items are needed too: otherwise hosts would move when their marks arrive
  const isReady = fleet !== null && isLoaded;
  useEffect(() => {
    live.refreshFleet();
    const timer = setInterval(() => live.refreshFleet(), REFRESH);
    return () => clearInterval(timer);
  }, [live]);
  return html`<div class="fleet">
    <h1>Fleet</h1>
    ${!isReady && html`<${Loading} />`}
    ${isReady && isEmpty(fleet) && html`<${FirstVisit} />`}
    ${isReady && !isEmpty(fleet) && html`<${Fleet} map=${fleet} />`}
  </div>`;
}

/** @param {FleetMap} map */
function isEmpty({ hosts, groups, vms }) {
  return !hosts.length && !groups.length && !vms.name.length;
}

/** Placeholder while the fleet is loading. */
function Loading() {
  return html`<p class="fleet-waiting soft" role="status" aria-busy="true">
    Loading the fleet…
  </p>`;
}

/** @param {{map: FleetMap}} props */
function Fleet({ map }) {
  const model = useModel();
  const [query, setQuery] = useState("");
  const [isByHost, setByHost] = useState(false);
  const [isOnly, setOnly] = useState(false);
  const [hovered, hover] = useState(/** @type {number | null} */ (null));
  const index = useMemo(() => indexOf(map), [map]);
  const { chosen, choose, close } = useChosen(index);
  const matches = useMemo(() => search(index, query), [index, query]);
  const at = chosen && (positionOf(index, chosen) ?? null);
  const host = chosen?.kind === "host" ? at : null;
  const rows = useMemo(() => {
    const filter = { query, matches, host, isOnly: isOnly && host !== null };
    return (isByHost ? rowsByHost : rowsByGroup)(index, filter);
  }, [index, matches, host, isOnly, isByHost]);
  const middle = useScrollTo(chosen, isByHost);
  const marks = marksOf(model.live(), standingOf);
  const highlight = highlightOf(hovered, chosen, at);
  const vm = chosen?.kind === "vm" ? at : null;
  const look = { isByHost, marks, highlight, host, vm };
  return html`
    <${SearchBar} ...${{ index, query, setQuery, matches, isByHost, setByHost }} />
    <${Legend} isByHost=${isByHost} />
    <div
      class="fleet-parts ${isByHost ? "by-host" : ""} ${chosen ? "with-details" : ""}"
      onKeyDown=${(/** @type {KeyboardEvent} */ { key }) => key === "Escape" && close()}
    >
      ${
        !isByHost &&
        html`<${Hosts}
        ...${{ index, marks, query, matches, choose, hover }}
        chosen=${host}
      />`
      }
      <div class="fleet-middle" ref=${middle}>
        <${ImpactBar} ...${{ index, hovered, host, isOnly, setOnly }} />
        <${Grid}
          key=${isByHost}
          ...${{ index, rows, look, choose, hover }}
          filterKey=${`${host} ${isOnly} ${query}`}
        />
      </div>
      ${chosen && html`<${Details} ...${{ index, chosen, choose, close }} />`}
    </div>
  `;
}

/**
 * Keep the selected VM, group or host by name: indexes change with the fleet.
 * @param {FleetIndex} index
 */
function useChosen(index) {
  const [chosen, setChosen] = useState(/** @type {Chosen | null} */ (null));
  const actions = useMemo(() => {
    const { vms, groups, hosts } = index.map;
    const nameOf = {
      vm: (/** @type {number} */ at) => vms.name[at],
      group: (/** @type {number} */ at) => groups[at]?.name,
      host: (/** @type {number} */ at) => hosts[at],
    };
    const choose = (/** @type {Chosen["kind"]} */ kind, /** @type {number} */ at) => {
      const name = nameOf[kind](at) ?? "";
      setChosen((before) =>
        before?.kind === kind && before.name === name ? null : { kind, name },
      );
    };
    return { choose, close: () => setChosen(null) };
  }, [index]);
  return { chosen, ...actions };
}

/**
 * Scroll to the selected object: the groups of a host are at the top, and the details
 * may cover a VM.
 * @param {Chosen | null} chosen
 * @param {boolean} isByHost
 */
function useScrollTo(chosen, isByHost) {
  const middle = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const { current } = middle;
    if (chosen?.kind === "vm") {
      current?.querySelector(".vm[aria-current]")?.scrollIntoView({ block: "nearest" });
    } else if (chosen?.kind === "host" && !isByHost) {
      if (current && current.getBoundingClientRect().top < 0) current.scrollIntoView();
    }
  }, [chosen]);
  return middle;
}

/**
 * @param {number | null} hovered
 * @param {Chosen | null} chosen
 * @param {number | null} at index of the selected object; null if it is gone
 * @returns {{kind: "host" | "group", at: number} | null}
 */
function highlightOf(hovered, chosen, at) {
  if (hovered !== null) return { kind: "host", at: hovered };
  if (at === null || !chosen || chosen.kind === "vm") return null;
  return { kind: chosen.kind, at };
}
