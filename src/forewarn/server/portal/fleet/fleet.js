// The Fleet page: hosts, groups and update domains, and what a host would touch.

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
import { Details, placeOf } from "./details.js";
import { indexOf } from "./fleet_index.js";
import { Grid } from "./grid.js";
import { Hosts } from "./hosts.js";
import { ReachBar } from "./impact.js";
import { Legend, marksOf } from "./marks.js";
import { rowsByGroup, rowsByHost } from "./rows.js";
import { search, SearchBar } from "./search.js";

/** @typedef {import("../types").FleetMap} FleetMap */
/** @typedef {import("./details.js").Chosen} Chosen */
/** @typedef {import("./fleet_index.js").FleetIndex} FleetIndex */

const OFTEN = 60_000; // ms; who asks, and who falls silent, is no fact of the journal

export function FleetPage() {
  const { live } = useApp();
  const { fleet, isLoaded } = useModel();
  const isReady = fleet !== null && isLoaded; // marks that come later would move hosts
  useEffect(() => {
    live.renewFleet();
    const timer = setInterval(() => live.renewFleet(), OFTEN);
    return () => clearInterval(timer);
  }, [live]);
  return html`<div class="fleet">
    <h1>Fleet</h1>
    ${!isReady && html`<${Waiting} />`}
    ${isReady && isEmpty(fleet) && html`<${FirstVisit} />`}
    ${isReady && !isEmpty(fleet) && html`<${Fleet} map=${fleet} />`}
  </div>`;
}

/** @param {FleetMap} map */
function isEmpty({ hosts, groups, vms }) {
  return !hosts.length && !groups.length && !vms.name.length;
}

/** The room that the fleet will have. */
function Waiting() {
  return html`<p class="fleet-waiting soft" role="status" aria-busy="true">
    Asking for the fleet…
  </p>`;
}

/** @param {{map: FleetMap}} props */
function Fleet({ map }) {
  const model = useModel();
  const [query, setQuery] = useState("");
  const [isByHost, setByHost] = useState(false);
  const [isOnly, setOnly] = useState(false);
  const [pointed, point] = useState(/** @type {number | null} */ (null));
  const index = useMemo(() => indexOf(map), [map]);
  const { chosen, choose, close } = useChosen(index);
  const found = useMemo(() => search(index, query), [index, query]);
  const at = chosen && (placeOf(index, chosen) ?? null);
  const host = chosen?.kind === "host" ? at : null;
  const rows = useMemo(() => {
    const wish = { query, found, host, isOnly: isOnly && host !== null };
    return (isByHost ? rowsByHost : rowsByGroup)(index, wish);
  }, [index, found, host, isOnly, isByHost]);
  const middle = useInView(chosen, isByHost);
  const marks = marksOf(model.live(), standingOf);
  const lit = litBy(pointed, chosen, at);
  const look = { isByHost, marks, lit, host, vm: chosen?.kind === "vm" ? at : null };
  return html`
    <${SearchBar} ...${{ index, query, setQuery, found, isByHost, setByHost }} />
    <${Legend} isByHost=${isByHost} />
    <div
      class="fleet-parts ${isByHost ? "by-host" : ""} ${chosen ? "with-details" : ""}"
      onKeyDown=${(/** @type {KeyboardEvent} */ { key }) => key === "Escape" && close()}
    >
      ${
        !isByHost &&
        html`<${Hosts}
        ...${{ index, marks, query, found, choose, point }}
        chosen=${host}
      />`
      }
      <div class="fleet-middle" ref=${middle}>
        <${ReachBar} ...${{ index, pointed, host, isOnly, setOnly }} />
        <${Grid}
          key=${isByHost}
          ...${{ index, rows, look, choose, point }}
          wished=${`${host} ${isOnly} ${query}`}
        />
      </div>
      ${chosen && html`<${Details} ...${{ index, chosen, choose, close }} />`}
    </div>
  `;
}

/**
 * Keep which VM, group or host is chosen, by its name: places change with the fleet.
 * @param {FleetIndex} index
 */
function useChosen(index) {
  const [chosen, setChosen] = useState(/** @type {Chosen | null} */ (null));
  const acts = useMemo(() => {
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
  return { chosen, ...acts };
}

/**
 * Bring into view what is chosen: what a host touches is at the top, and a VM may be
 * below the details.
 * @param {Chosen | null} chosen
 * @param {boolean} isByHost
 */
function useInView(chosen, isByHost) {
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
 * @param {number | null} pointed
 * @param {Chosen | null} chosen
 * @param {number | null} at where the chosen one is, null: nowhere
 * @returns {{kind: "host" | "group", at: number} | null}
 */
function litBy(pointed, chosen, at) {
  if (pointed !== null) return { kind: "host", at: pointed };
  if (at === null || !chosen || chosen.kind === "vm") return null;
  return { kind: chosen.kind, at };
}
