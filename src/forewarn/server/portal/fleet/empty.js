// What to do while there is no fleet.

import { html, useApp } from "../view.js";

const COMMAND = "forewarn fleet apply fleet.toml";

const EXAMPLE = `[[hosts]]
name = "host-a"

[[groups]]
name = "web"
kind = "availability-set"

[[vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
addresses = ["10.0.0.4"]
`;

/** A first visit: the fleet is a file that one writes and applies. */
export function EmptyFleet() {
  return html`<section class="fleet-empty card">
    <h2>There is no fleet yet</h2>
    <p>
      A fleet is a file that names hosts, groups and VMs. Write one, here as
      <code> fleet.toml</code>:
    </p>
    <${Copied} text=${EXAMPLE} what="the example" />
    <p>Then apply it; this page follows at once:</p>
    <${Copied} text=${COMMAND} what="the command" />
    <p class="soft">
      To try things out, <code>forewarn serve --fleet demo</code> begins with a small
      fleet of its own.
    </p>
  </section>`;
}

/** @param {{text: string, what: string}} props */
function Copied({ text, what }) {
  const { say } = useApp();
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      say(`Copied ${what}.`);
    } catch {
      say(`The browser does not let this page copy ${what}; mark it.`, "refused");
    }
  }
  return html`<div class="fleet-copied">
    <pre tabindex="0"><code>${text}</code></pre>
    <button onClick=${copy} aria-label=${`Copy ${what}`}>Copy</button>
  </div>`;
}
