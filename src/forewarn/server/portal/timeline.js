// The Timeline page: past and future in one picture.

import { html } from "./view.js";

export function TimelinePage() {
  return html`<h1>Timeline</h1>`;
}
