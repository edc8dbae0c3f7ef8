// The events of a maintenance: whom they touch, who has seen and who has approved them.

import { count, few, Time } from "../components.js";
import { html, useState } from "../view.js";
import { approvedWords, seenWords } from "./phrases.js";
import { approvals, sightingOf } from "./sections.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

const MORE = 50;
const MOST_NAMES = 200;

/** @param {{item: Item, atFirst?: number}} props */
export function EventList({ item, atFirst = 4 }) {
  const { events } = item.maintenance;
  const [shown, setShown] = useState(atFirst);
  const { given, wanted } = approvals(item);
  const isClose = events.length <= shown + 2; // no button for so few
  const rest = isClose ? 0 : events.length - shown;
  return html`
    ${
      events.length > 1 &&
      html`<p class="approvals">${given} of ${count(wanted, "event")} approved</p>`
    }
    <ul class="events">
      ${events
        .slice(0, events.length - rest)
        .map((event) => html`<${One} key=${event.id} item=${item} event=${event} />`)}
    </ul>
    ${
      rest > 0 &&
      html`<button class="quiet more" onClick=${() => setShown(shown + MORE)}>
      Show ${count(Math.min(rest, MORE), "more event")} of ${events.length}
    </button>`
    }
  `;
}

/** @param {{item: Item, event: ScheduledEvent}} props */
function One({ item, event }) {
  const { maintenance } = item;
  const isOwn = event.resources.length === 1 && event.resources[0] === event.group;
  return html`<li>
    <div class="whom">
      <strong>${event.group}</strong>
      ${!isOwn && html`${" "}<span class="soft">${few(event.resources)}</span>`}
    </div>
    <${Seen} item=${item} event=${event} />
    <div class=${event.approved_at ? "approved" : ""}>
      ${approvedWords(maintenance, event)}
      ${event.approved_at && html`, <${Time} at=${event.approved_at} />`}
    </div>
  </li>`;
}

/**
 * Who has seen an event; their names on demand.
 * @param {{item: Item, event: ScheduledEvent}} props
 */
function Seen({ item, event }) {
  const sighting = sightingOf(item, event);
  const words = seenWords(sighting);
  const sights = [...sighting.touched, ...sighting.others];
  if (!sights.length) return html`<div class="seen soft">${words}</div>`;
  return html`<details class="seen">
    <summary>${words}</summary>
    <ul>
      ${sights
        .slice(0, MOST_NAMES)
        .map(({ vm, at }) => html`<li key=${vm}>${vm}, <${Time} at=${at} /></li>`)}
      ${sighting.missing
        .slice(0, MOST_NAMES)
        .map((vm) => html`<li key=${vm} class="soft">${vm}, not yet</li>`)}
    </ul>
  </details>`;
}
