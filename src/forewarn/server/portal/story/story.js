// The story of one maintenance in sentences: beside the page, or over it if narrow.

import { MaintenanceActs } from "../acts/acts.js";
import { EventList } from "../now/event_list.js";
import { durationWords, originOf } from "../now/words.js";
import { Standing, Time, titleOf } from "../parts.js";
import { openStory } from "../route.js";
import { Sentence } from "./sentence.js";
import { useStory } from "./answers.js";
import { useEscape, useFocus, useInert, useNarrow } from "./focus.js";
import { html, useRef, useState } from "../view.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("./answers.js").Told} Told */

const MORE = 100;

/** @param {{id: string}} props */
export function StoryPanel({ id }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const isNarrow = useNarrow();
  const { told, refusal } = useStory(id);
  useFocus(heading);
  useEscape();
  useInert(isNarrow);
  const role = isNarrow
    ? { role: "dialog", "aria-modal": "true" }
    : { role: "complementary" };
  return html`<div class="story" aria-labelledby="story" ...${role}>
    <div class="story-head">
      <h2 id="story" tabindex="-1" ref=${heading}>
        ${told?.item ? titleOf(told.item.maintenance) : "Story"}
      </h2>
      <button class="quiet" aria-label="Close the story" onClick=${close}>×</button>
    </div>
    <p class="refusal" role="alert" hidden=${!refusal}>${refusal}</p>
    ${told && html`<${Telling} told=${told} />`}
    ${!told && !refusal && html`<p class="soft" role="status">Asking…</p>`}
  </div>`;
}

function close() {
  openStory(null);
}

/** @param {{told: Told}} props */
function Telling({ told: { item, explanation, story } }) {
  return html`
    ${item && html`<${Standing} item=${item} /> <${MaintenanceActs} item=${item} />`}
    <section aria-labelledby="story-why">
      <h3 id="story-why">How it stands</h3>
      <${Sentences} sentences=${explanation.sentences} />
    </section>
    <section aria-labelledby="story-what">
      <h3 id="story-what">What happened</h3>
      <${Entries} entries=${story.entries} />
      <${Sentences} sentences=${story.sentences} />
    </section>
    ${item && html`<${Details} item=${item} />`}
  `;
}

/** @param {{sentences: string[]}} props */
function Sentences({ sentences }) {
  return sentences.map((text) => html`<p key=${text}><${Sentence} text=${text} /></p>`);
}

/** @param {{entries: import("../types").Story["entries"]}} props */
function Entries({ entries }) {
  const [shown, setShown] = useState(MORE);
  const rest = entries.length - shown;
  return html`<ol class="entries">
      ${entries.slice(0, shown).map(
        ({ at, what }, index) => html`<li key=${index}>
          <span class="soft"><${Time} at=${at} /></span>
          <span><${Sentence} text=${what} /></span>
        </li>`,
      )}
    </ol>
    ${
      rest > 0 &&
      html`<button onClick=${() => setShown(shown + MORE)}>
      Show ${Math.min(rest, MORE)} more of ${entries.length}
    </button>`
    }`;
}

/** @param {{item: Item}} props */
function Details({ item }) {
  const { maintenance } = item;
  return html`
    <section aria-labelledby="story-whom">
      <h3 id="story-whom">Whom it touches</h3>
      <${EventList} item=${item} atFirst=${10} />
    </section>
    <section aria-labelledby="story-more">
      <h3 id="story-more">More about it</h3>
      <dl>
        <dt>Origin</dt>
        <dd>${originOf(maintenance)}</dd>
        <dt>NotBefore</dt>
        <dd><${Time} at=${maintenance.not_before} /></dd>
        <dt>Duration</dt>
        <dd>${durationWords(maintenance.duration_seconds)}</dd>
        <dt>Description</dt>
        <dd>${maintenance.description || "none"}</dd>
        ${
          maintenance.reason &&
          html`<dt>Reason</dt>
          <dd>${maintenance.reason}</dd>`
        }
        <dt>Id</dt>
        <dd><code>${maintenance.id}</code></dd>
      </dl>
    </section>
  `;
}
