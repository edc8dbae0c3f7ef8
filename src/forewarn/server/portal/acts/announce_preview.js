// What would be announced: which events, for whom, when, and what the gates will do.

import { earliestOf, summaryOf } from "./announcement.js";
import { few, Time, titleOf } from "../parts.js";
import { html, useEffect, useRef, useState } from "../view.js";

/** @typedef {import("../types").Maintenance} Maintenance */

const AT_ONCE = 20; // maintenances that are shown at once
const MOST_VMS = 30; // of an event

/**
 * @param {{preview: import("./announce.js").Preview | null, isFresh: boolean}} props
 */
export function AnnouncePreview({ preview, isFresh }) {
  const [shown, setShown] = useState(AT_ONCE);
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (preview) section.current?.scrollIntoView();
  }, [preview]);
  const made = preview?.maintenances ?? [];
  const rest = made.length - shown;
  return html`<section class="preview" aria-label="Preview" ref=${section}>
    <p id="preview-state" role="status" class=${isFresh ? "" : "soft"}>
      ${stateOf(preview, isFresh)}
    </p>
    ${
      preview &&
      html`<${Earliest} made=${made} />
      <ol class=${isFresh ? "plan" : "plan stale"}>
        ${made.slice(0, shown).map(
          (each, i) => html`<${Planned}
              key=${i}
              maintenance=${each}
              sentences=${preview.explained[i]?.sentences ?? []}
            />`,
        )}
      </ol>`
    }
    ${
      rest > 0 &&
      html`<button type="button" onClick=${() => setShown(shown + AT_ONCE)}>
      Show more (${rest})
    </button>`
    }
  </section>`;
}

/**
 * @param {import("./announce.js").Preview | null} preview
 * @param {boolean} isFresh
 */
function stateOf(preview, isFresh) {
  if (preview === null) return "Ask for the preview before you announce.";
  if (!isFresh) return "The form has changed since this preview. Ask for it again.";
  return `This would be announced: ${summaryOf(preview.maintenances)}.`;
}

/** @param {{made: Maintenance[]}} props */
function Earliest({ made }) {
  const earliest = earliestOf(made);
  if (earliest === null) return null;
  return html`<p>
    Earliest NotBefore: <strong><${Time} at=${earliest} /></strong>,${" "}
    <${Time} at=${earliest} relative />
  </p>`;
}

/** @param {{maintenance: Maintenance, sentences: string[]}} props */
function Planned({ maintenance, sentences }) {
  return html`<li class="card">
    <h3>${titleOf(maintenance)}</h3>
    <p class="soft">Not before <${Time} at=${maintenance.not_before} /></p>
    <table>
      <thead>
        <tr>
          <th scope="col">Group</th>
          <th scope="col">VMs of its event</th>
        </tr>
      </thead>
      <tbody>
        ${maintenance.events.map(
          ({ group, resources }, i) => html`<tr key=${i}>
            <th scope="row">${group}</th>
            <td>${few(resources, MOST_VMS)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
    <ul>
      ${sentences.map((each) => html`<li key=${each}>${each}</li>`)}
    </ul>
  </li>`;
}
