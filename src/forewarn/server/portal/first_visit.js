// First visit: instructions for adding VMs, shown while the fleet is empty.

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

const BLOCKED = "Your browser blocked copying. Select the text and copy it manually.";

export function FirstVisit() {
  return html`<section class="card first" aria-labelledby="first">
    <h2 id="first">No VMs yet</h2>
    <p>
      forewarn warns VMs before maintenance affects them. First, describe your fleet in
      a file, such as <code>fleet.toml</code>:
    </p>
    <${Command} text=${FLEET} label="example fleet file" />
    <p>Then apply the file. This page shows the fleet immediately:</p>
    <${Command} text="forewarn fleet apply fleet.toml" label="apply command" />
    <p>To try forewarn first, start the service with the bundled demo fleet instead:</p>
    <${Command} text="forewarn serve --fleet demo" label="demo command" />
    <p>
      To add VMs from another program, see the <a href="/docs">API reference</a>.
    </p>
  </section>`;
}

/**
 * A command or file contents, with a copy button.
 * @param {{text: string, label: string}} props
 */
function Command({ text, label }) {
  const { notify } = useApp();

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      notify("Copied to the clipboard.");
    } catch {
      notify(BLOCKED, "refused");
    }
  }

  return html`<div class="command">
    <pre tabindex="0" aria-label=${label}><code>${text}</code></pre>
    <button onClick=${copy} aria-label=${`Copy ${label}`}>Copy</button>
  </div>`;
}
