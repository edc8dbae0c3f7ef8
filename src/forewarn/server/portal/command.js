// A command, or a file, that can be copied.

import { html, useApp } from "./view.js";

/** @param {{text: string, label: string}} props */
export function Command({ text, label }) {
  const { say } = useApp();

  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied.");
    } catch {
      say("The browser does not allow that; select the text instead.", "refused");
    }
  }

  return html`<div class="command">
    <pre tabindex="0" aria-label=${label}><code>${text}</code></pre>
    <button onClick=${copy} aria-label=${`Copy ${label}`}>Copy</button>
  </div>`;
}
