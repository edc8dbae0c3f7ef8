// Story panel: status, history and details of one maintenance operation. The panel is
// next to the page; on narrow screens, it covers the page.

import { MaintenanceActions } from "../actions/buttons.js";
import { Standing, Time, titleOf } from "../components.js";
import { WaitRow } from "../overview/card.js";
import { EventList } from "../overview/event_list.js";
import { durationPhrase, originOf } from "../overview/phrases.js";
import { openStory } from "../route.js";
import { path } from "../service/api.js";
import { idsIn } from "../service/model.js";
import { html, useApp, useEffect, useModel, useRef, useState } from "../view.js";
import { useEscape, useFocus, useInert, useNarrow } from "./focus.js";
import { Sentence } from "./sentence.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").Entry} Entry */

const PAGE_SIZE = 100; // entries shown at once

/** @param {{id: string}} props */
export function StoryPanel({ id }) {
  const heading = useRef(/** @type {HTMLElement | null} */ (null));
  const isNarrow = useNarrow();
  const { data, error } = useStory(id);
  useFocus(heading);
  useEscape();
  useInert(isNarrow);
  const role = isNarrow
    ? { role: "dialog", "aria-modal": "true" }
    : { role: "complementary" };
  return html`<div class="story" aria-labelledby="story" ...${role}>
    <div class="story-head">
      <h2 id="story" tabindex="-1" ref=${heading}>
        ${data?.item ? titleOf(data.item.maintenance) : "Maintenance"}
      </h2>
      <button class="quiet" aria-label="Close details" onClick=${close}>×</button>
    </div>
    <p class="refusal" role="alert" hidden=${!error}>
      <${Sentence} text=${error} isPlain />
    </p>
    ${data && html`<${Content} data=${data} />`}
    ${!data && !error && html`<p class="soft" role="status">Loading…</p>`}
  </div>`;
}

function close() {
  openStory(null);
}

/** @param {{data: StoryData}} props */
function Content({ data: { item, explanation, story } }) {
  return html`
    ${item && html`<${Standing} item=${item} /> <${MaintenanceActions} item=${item} />`}
    <section aria-labelledby="story-why">
      <h3 id="story-why">Status</h3>
      <p><${Sentence} text=${explanation.summary} /></p>
      <ul class="waits">
        ${explanation.waits.map(
          (wait, index) => html`<${WaitRow} key=${index} wait=${wait} />`,
        )}
      </ul>
      ${explanation.hint && html`<p><${Sentence} text=${explanation.hint} /></p>`}
    </section>
    <section aria-labelledby="story-what">
      <h3 id="story-what">History</h3>
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
  const [shown, setShown] = useState(PAGE_SIZE);
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
      html`<button onClick=${() => setShown(shown + PAGE_SIZE)}>
      Show ${Math.min(rest, PAGE_SIZE)} more of ${entries.length}
    </button>`
    }`;
}

/** @param {{item: Item}} props */
function Details({ item }) {
  const { maintenance } = item;
  return html`
    <section aria-labelledby="story-groups">
      <h3 id="story-groups">Affected groups</h3>
      <${EventList} item=${item} first=${10} />
    </section>
    <section aria-labelledby="story-more">
      <h3 id="story-more">Details</h3>
      <dl>
        <dt>Origin</dt>
        <dd>${originOf(maintenance)}</dd>
        <dt>NotBefore</dt>
        <dd><${Time} at=${maintenance.not_before} /></dd>
        <dt>Duration</dt>
        <dd>${durationPhrase(maintenance.duration_seconds)}</dd>
        <dt>Description</dt>
        <dd>${maintenance.description || "none"}</dd>
        ${
          maintenance.reason &&
          html`<dt>Reason</dt>
          <dd>${maintenance.reason}</dd>`
        }
        <dt>ID</dt>
        <dd><code>${maintenance.id}</code></dd>
      </dl>
    </section>
  `;
}

/**
 * @typedef {object} StoryData
 * @property {Item | null} item null if the service does not return it
 * @property {import("../types").Explanation} explanation
 * @property {import("../types").Story} story
 */

/**
 * Load a story, and reload it whenever something changes.
 * @param {string} id of the maintenance, or of one of its events
 * @returns {{data: StoryData | null, error: string}}
 */
function useStory(id) {
  const { api } = useApp();
  const model = useModel();
  const [data, setData] = useState(/** @type {StoryData | null} */ (null));
  const [error, setError] = useState("");
  const loaded = data?.item?.maintenance ?? null;
  const item = model.items.get(loaded?.id ?? id) ?? data?.item ?? null;
  const ids = loaded ? [loaded.id, ...loaded.events.map((event) => event.id)] : [id];
  const last = lastPosition(model.facts, new Set(ids));

  useEffect(() => {
    const request = new AbortController();
    fetchStory(api, id, request.signal)
      .then((response) => {
        setData(response);
        setError("");
      })
      .catch((/** @type {Error} */ failure) => {
        if (!request.signal.aborted) setError(failure.message);
      });
    return () => request.abort();
  }, [id, last, item?.due, model.clock.reported]); // for the remaining time

  return { data: data && { ...data, item }, error };
}

/**
 * @param {import("../service/api.js").Api} api
 * @param {string} id
 * @param {AbortSignal} signal
 * @returns {Promise<StoryData>}
 */
async function fetchStory(api, id, signal) {
  const [overview, explanation, story] = await Promise.all([
    api.get(`/v1/overview?id=${encodeURIComponent(id)}`, signal),
    api.get(path`/v1/maintenances/${id}/explain`, signal),
    api.get(path`/v1/maintenances/${id}/story`, signal),
  ]);
  return { item: overview.items[0] ?? null, explanation, story };
}

/**
 * Return the position of the last fact about these ids; 0 if there is none.
 * @param {Entry[]} facts newest first
 * @param {Set<string>} ids
 */
function lastPosition(facts, ids) {
  const last = facts.find((entry) => idsIn(entry).some((id) => ids.has(id)));
  return last?.position ?? 0;
}
