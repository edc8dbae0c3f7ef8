// What the Now page says if nothing is announced: what to do, or that all is well.

import { FirstVisit } from "../first_visit.js";
import { count } from "../parts.js";
import { hashOf } from "../route.js";
import { html } from "../view.js";

/** @param {{fleet: import("../types").FleetMap | null}} props */
export function Empty({ fleet }) {
  if (fleet === null) return html`<div class="empty calm" aria-busy="true"></div>`;
  return fleet.vms.name.length
    ? html`<${Calm} fleet=${fleet} />`
    : html`<${FirstVisit} />`;
}

/** @param {{fleet: import("../types").FleetMap}} props */
function Calm({ fleet }) {
  const silent = fleet.groups.filter((each) => each.is_silent).length;
  const have = silent === 1 ? "is silent: it has" : "are silent: they have";
  const said = silent
    ? `${count(silent, "group")} ${have} not asked for events in 24 h`
    : "none of them is silent";
  return html`<div class="empty calm">
    <h2>Nothing is announced.</h2>
    <p>
      ${count(fleet.vms.name.length, "VM")} in ${count(fleet.groups.length, "group")};
      ${" "}${said}. <a href=${hashOf("fleet")}>See the fleet</a>
    </p>
  </div>`;
}
