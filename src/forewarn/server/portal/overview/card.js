// Card for one maintenance operation: title, time, blockers, events and actions.

import { MaintenanceActions } from "../actions/buttons.js";
import { Countdown, Standing, standingOf, Time, titleOf } from "../components.js";
import { openStory } from "../route.js";
import { Sentence, StoryLink } from "../story/sentence.js";
import { countdown, ms, utc } from "../times.js";
import { html, useMemo, useNow } from "../view.js";
import { EventList } from "./event_list.js";
import { originOf } from "./phrases.js";
import { shownWaits } from "./sections.js";

/** @typedef {import("../types").Item} Item */

/** @param {{item: Item}} props */
export function Card({ item }) {
  // A card is only redrawn if its own item has changed.
  return useMemo(() => drawCard(item), [item]);
}

/** @param {Item} item */
function drawCard(item) {
  const { maintenance } = item;
  return html`<article
    class="card maintenance ${standingOf(item)}"
    onClick=${(/** @type {MouseEvent} */ event) => openClicked(event, maintenance.id)}
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
    <${MaintenanceActions} item=${item} />
  </article>`;
}

/**
 * Open the story if the click was on the card itself, not on a control.
 * @param {MouseEvent} event
 * @param {string} id
 */
function openClicked(event, id) {
  const target = /** @type {Element} */ (event.target);
  if (target.closest("a, button, summary, input, select, dialog, details ul")) return;
  if (getSelection()?.isCollapsed === false) return;
  openStory(id);
}

/** The time left until NotBefore, or the time since it started or became stuck. */
function Moment(/** @type {{item: Item}} */ { item }) {
  const { not_before, started_at, stuck_since } = item.maintenance;
  const since = stuck_since ?? started_at;
  if (since) {
    const word = stuck_since ? "stuck for" : "running for";
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
  const elapsed = Math.max(useNow() - ms(since), 0);
  return html`<time
    class="countdown"
    role="timer"
    aria-live="off"
    datetime=${new Date(ms(since)).toISOString()}
    title=${`since ${utc(since)}`}
    >${countdown(elapsed)}</time
  >`;
}

/** @param {{item: Item}} props */
function Waits({ item }) {
  const { shown, more } = shownWaits(item);
  if (!shown.length) return null;
  return html`<ul class="waits">
    ${shown.map((wait, index) => html`<${WaitRow} key=${index} wait=${wait} />`)}
    ${
      more > 0 &&
      html`<li key="more" class="more">
      <${StoryLink} id=${item.maintenance.id}>and ${more} more<//>
    </li>`
    }
  </ul>`;
}

/** @param {{wait: import("../types").Wait}} props */
export function WaitRow({ wait: { kind, text, until, unblocked_by } }) {
  const commands = unblocked_by.filter(({ command }) => command);
  return html`<li class=${kind}>
    <${Sentence} text=${text} />
    ${until && html`${" "}This wait ends by <${Time} at=${until} />.`}
    ${commands.map(
      ({ text, command }) =>
        html`<br key=${command} />To ${text}: <code>${command}</code>`,
    )}
  </li>`;
}
