// The story of one maintenance in sentences: beside the page, or over it if narrow.
// Asks for the story of one maintenance, and again whenever it goes on.

import { MaintenanceActs } from "../actions/buttons.js";
import { Standing, Time, titleOf } from "../components.js";
import { EventList } from "../overview/event_list.js";
import { durationWords, originOf } from "../overview/phrases.js";
import { openStory } from "../route.js";
import { path } from "../service/api.js";
import { concerned } from "../service/model.js";
import { html, useApp, useEffect, useModel, useRef, useState } from "../view.js";
import { useEscape, useFocus, useInert, useNarrow } from "./focus.js";
import { Sentence } from "./sentence.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").Entry} Entry */

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

/**
 * @typedef {object} Told
 * @property {Item | null} item null: the service does not show it
 * @property {import("../types").Explanation} explanation
 * @property {import("../types").Story} story
 */

/**
 * Keep the story of a maintenance, or of the one that has this event.
 * @param {string} id
 * @returns {{told: Told | null, refusal: string}}
 */
export function useStory(id) {
  const { api } = useApp();
  const model = useModel();
  const [told, setTold] = useState(/** @type {Told | null} */ (null));
  const [refusal, setRefusal] = useState("");
  const known = told?.item?.maintenance ?? null;
  const item = model.items.get(known?.id ?? id) ?? told?.item ?? null;
  const ids = known ? [known.id, ...known.events.map((each) => each.id)] : [id];
  const last = lastOf(model.facts, new Set(ids));

  useEffect(() => {
    const asking = new AbortController();
    ask(api, id, asking.signal)
      .then((answers) => {
        setTold(answers);
        setRefusal("");
      })
      .catch((/** @type {Error} */ error) => {
        if (!asking.signal.aborted) setRefusal(error.message);
      });
    return () => asking.abort();
  }, [id, last, item?.due, model.clock.told]); // sentences tell how long it is until

  return { told: told && { ...told, item }, refusal };
}

/**
 * @param {import("../service/api.js").Api} api
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<Told>}
 */
async function ask(api, id, signal) {
  const [overview, explanation, story] = await Promise.all([
    api.get(`/v1/overview?id=${encodeURIComponent(id)}`, signal),
    api.get(path`/v1/maintenances/${id}/explain`, signal),
    api.get(path`/v1/maintenances/${id}/story`, signal),
  ]);
  return { item: overview.items[0] ?? null, explanation, story };
}

/**
 * Find the last fact that tells of one of these.
 * @param {Entry[]} facts the newest first
 * @param {Set<string>} ids
 */
function lastOf(facts, ids) {
  const found = facts.find((each) => concerned(each).some((one) => ids.has(one)));
  return found?.position ?? 0;
}
