// The Fleet page: hosts, groups and update domains.

import { html } from "./view.js";

export function FleetPage() {
  return html`<h1>Fleet</h1>`;
}
