// One maintenance as a card: what, when, what it waits for, who knows of it.

import { MaintenanceActs } from "../actions/buttons.js";
import { Countdown, Standing, standingOf, Time, titleOf } from "../components.js";
import { openStory } from "../route.js";
import { Sentence, StoryLink } from "../story/sentence.js";
import { countdown, ms, utc } from "../times.js";
import { html, useMemo, useNow } from "../view.js";
import { EventList } from "./event_list.js";
import { originOf } from "./phrases.js";
import { waitsTold } from "./sections.js";

/** @typedef {import("../types").Item} Item */

/** What an item can wait for. */
const KINDS = {
  approval: "Approval",
  time: "Time",
  gate: "Gate",
  lead: "Before it begins",
  work: "Work",
};

/** @param {{item: Item}} props */
export function Card({ item }) {
  // What has not changed is not drawn again, however many facts of others come.
  return useMemo(() => drawn(item), [item]);
}

/** @param {Item} item */
function drawn(item) {
  const { maintenance } = item;
  return html`<article
    class="card maintenance ${standingOf(item)}"
    onClick=${(/** @type {MouseEvent} */ event) => opened(event, maintenance.id)}
  >
    <div class="head">
      <${Standing} item=${item} />
      <h3><${StoryLink} id=${maintenance.id}>${titleOf(maintenance)}<//></h3>
      <${Moment} item=${item} />
    </div>
    <p class="soft origin">
      ${originOf(maintenance)} · announced${" "}
      <${Time} at=${maintenance.announced_at} relative />
    </p>
    <${Waits} item=${item} />
    <${EventList} item=${item} />
    <${MaintenanceActs} item=${item} />
  </article>`;
}

/**
 * Open the story if the card itself was clicked, and not something on it.
 * @param {MouseEvent} event
 * @param {string} id
 */
function opened(event, id) {
  const target = /** @type {Element} */ (event.target);
  if (target.closest("a, button, summary, input, select, dialog, details ul")) return;
  if (getSelection()?.isCollapsed === false) return;
  openStory(id);
}

/** The moment that counts: until NotBefore, or since it started or is stuck. */
function Moment(/** @type {{item: Item}} */ { item }) {
  const { not_before, started_at, stuck_since } = item.maintenance;
  const since = stuck_since ?? started_at;
  if (since) {
    const word = stuck_since ? "stuck for" : "for";
    return html`<p class="moment">
      <span class="soft">${word}</span> <${Elapsed} since=${since} />
    </p>`;
  }
  return html`<p class="moment"><${Notice} to=${not_before} /></p>`;
}

/** @param {{to: string}} props */
function Notice({ to }) {
  const isPast = useNow() >= ms(to);
  return html`<span class="soft">NotBefore</span>${" "}
    ${
      isPast
        ? html`<${Time} at=${to} relative />`
        : html`<span class="soft">in</span> <${Countdown} to=${to} />`
    }`;
}

/** @param {{since: string}} props */
function Elapsed({ since }) {
  const gone = Math.max(useNow() - ms(since), 0);
  return html`<time
    class="countdown"
    role="timer"
    aria-live="off"
    datetime=${new Date(ms(since)).toISOString()}
    title=${`since ${utc(since)}`}
    >${countdown(gone)}</time
  >`;
}

/** @param {{item: Item}} props */
function Waits({ item }) {
  const { told, more } = waitsTold(item);
  if (!told.length) return null;
  return html`<ul class="waits">
    ${told.map((wait, index) => html`<${Waiting} key=${index} wait=${wait} />`)}
    ${
      more > 0 &&
      html`<li key="more" class="more">
      <${StoryLink} id=${item.maintenance.id}>and ${more} more<//>
    </li>`
    }
  </ul>`;
}

/** @param {{wait: import("../types").Wait}} props */
function Waiting({ wait: { kind, what, opens_at, opened_by } }) {
  return html`<li class=${kind}>
    <strong>${KINDS[kind]}:</strong> <${Sentence} text=${what} />${
      opens_at && html`, until <${Time} at=${opens_at} />`
    }.
    ${opened_by && html`${" "}Opened by <${Sentence} text=${opened_by} />.`}
  </li>`;
}
