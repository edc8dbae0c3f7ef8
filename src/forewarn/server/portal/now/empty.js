// What the Now page says if nothing is announced: what to do, or that all is well.

import { Command } from "../command.js";
import { count } from "../parts.js";
import { hashOf } from "../route.js";
import { html } from "../view.js";

const FLEET = `[[hosts]]
name = "host-a"

[[groups]]
name = "web"
kind = "availability-set"

[[vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
addresses = ["10.0.0.10"]
`;

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
  const are = silent === 1 ? "is" : "are";
  const said = silent
    ? `${count(silent, "group")} ${are} silent: they have not asked for events in 24 h`
    : "none of them is silent";
  return html`<div class="empty calm">
    <h2>Nothing is announced.</h2>
    <p>
      ${count(fleet.vms.name.length, "VM")} in ${count(fleet.groups.length, "group")};
      ${" "}${said}. <a href=${hashOf("fleet")}>See the fleet</a>
    </p>
  </div>`;
}

function FirstVisit() {
  return html`<section class="card first" aria-labelledby="first">
    <h2 id="first">There are no VMs yet</h2>
    <p>
      forewarn warns the VMs of a fleet before they are touched; so first it has to know
      them. Write them into a file, say <code>fleet.toml</code>:
    </p>
    <${Command} text=${FLEET} label="an example of a fleet file" />
    <p>Then apply it; this page shows the fleet at once:</p>
    <${Command} text="forewarn fleet apply fleet.toml" label="the command" />
    <p>Or begin with the fleet that comes along, to try things out:</p>
    <${Command} text="forewarn serve --fleet demo" label="the command of the demo" />
    <p>
      The <a href="/docs">description of the API</a> says how other programs can do it.
    </p>
  </section>`;
}
