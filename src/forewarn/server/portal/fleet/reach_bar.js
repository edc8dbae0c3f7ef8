// Says above the grid what the maintenance of a host would touch.

import { defeats, headline, reachOf, sentenceOf } from "./reach.js";
import { count, few } from "../parts.js";
import { html, useMemo } from "../view.js";

const MOST = 2; // groups that are told of here; the details tell of all

/**
 * @param {{
 *   index: import("./fleet_index.js").FleetIndex,
 *   pointed: number | null,
 *   host: number | null,
 *   isOnly: boolean,
 *   setOnly: (isOnly: boolean) => void,
 * }} props `host`: the chosen one
 */
export function ReachBar({ index, pointed, host, isOnly, setOnly }) {
  const shown = pointed ?? host;
  const reach = useMemo(
    () => (shown === null ? null : reachOf(index, shown)),
    [index, shown],
  );
  return html`<div class="fleet-reach card">
    <div role="status">
      ${reach === null && html`<${Hint} index=${index} />`}
      ${
        reach !== null &&
        html`<strong>${headline(reach)}</strong>
        <${Shares} shares=${reach.shares} />`
      }
    </div>
    ${
      host !== null &&
      html`<label class="only">
      <input
        type="checkbox"
        checked=${isOnly}
        onChange=${() => setOnly(!isOnly)}
      />${" "}Only what ${index.map.hosts[host]} touches
    </label>`
    }
  </div>`;
}

/** @param {{index: import("./fleet_index.js").FleetIndex}} props */
function Hint({ index }) {
  const hosts = useMemo(() => defeats(index), [index]);
  const silent = index.map.groups.filter((each) => each.is_silent);
  return html`<p class="soft">
      Point at a host to see what its maintenance would touch; choose it to keep that.
    </p>
    ${
      hosts.length > 0 &&
      html`<p class="defeated">
      ${count(hosts.length, "host")} would take several update domains of a group down
      at once: ${few(hosts, 5)}.
    </p>`
    }
    ${
      silent.length > 0 &&
      html`<p>
      Silent, not having asked for events in 24 h:
      ${" "}${few(
        silent.map((each) => each.name),
        5,
      )}.
    </p>`
    }`;
}

/** @param {{shares: import("./reach.js").Share[]}} props */
function Shares({ shares }) {
  const rest = shares.length - MOST;
  return html`<ul>
    ${shares.slice(0, MOST).map(
      (each) => html`<li key=${each.group} class=${each.isDefeated ? "defeated" : ""}>
        <span class="group">${each.group}</span>: ${sentenceOf(each)}
      </li>`,
    )}
    ${rest > 0 && html`<li class="soft">and ${count(rest, "more group")}</li>`}
  </ul>`;
}
