// Says above the grid what the maintenance of a host would touch.

import { headline, reachOf, sentenceOf } from "./fleet_reach.js";
import { count } from "./parts.js";
import { html, useMemo } from "./view.js";

const MOST = 3; // groups that are told of here; the details tell of all

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
      ${reach ? html`<strong>${headline(reach)}</strong>` : html`<${Hint} />`}
      ${reach && html`<${Shares} shares=${reach.shares} />`}
    </div>
    ${host !== null &&
    html`<label class="only">
      <input
        type="checkbox"
        checked=${isOnly}
        onChange=${() => setOnly(!isOnly)}
      />${" "}Only what ${index.map.hosts[host]} touches
    </label>`}
  </div>`;
}

function Hint() {
  return html`<span class="soft">
    Point at a host to see what its maintenance would touch; choose it to keep that.
  </span>`;
}

/** @param {{shares: import("./fleet_reach.js").Share[]}} props */
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
