// The story of one maintenance, beside the page.

import { html } from "./view.js";

/** @param {{id: string}} props */
export function StoryPanel({ id }) {
  return html`<aside aria-label="Story">${id}</aside>`;
}
