// First visit: shown while the fleet is empty; explains how to add VMs.

import { html, useApp } from "./view.js";

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

export function FirstVisit() {
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

/**
 * A command or a file with a copy button.
 * @param {{text: string, label: string}} props
 */
function Command({ text, label }) {
  const { notify } = useApp();

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      notify("Copied.");
    } catch {
      notify("The browser does not allow that; select the text instead.", "refused");
    }
  }

  return html`<div class="command">
    <pre tabindex="0" aria-label=${label}><code>${text}</code></pre>
    <button onClick=${copy} aria-label=${`Copy ${label}`}>Copy</button>
  </div>`;
}
