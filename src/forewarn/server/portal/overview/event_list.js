// List of an operation's events: affected VMs, sightings and approvals.

import { count, few, Time } from "../components.js";
import { html, useState } from "../view.js";
import { approvalPhrase, seenPhrase } from "./phrases.js";
import { approvalsOf, sightingOf } from "./sections.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("../types").ScheduledEvent} ScheduledEvent */

const MORE_EVENTS = 50;
const MOST_NAMES = 200;

/** @param {{item: Item, first?: number}} props */
export function EventList({ item, first = 4 }) {
  const { events } = item.maintenance;
  const [shown, setShown] = useState(first);
  const { given, needed } = approvalsOf(item);
  const isClose = events.length <= shown + 2; // no button for one or two more
  const rest = isClose ? 0 : events.length - shown;
  return html`
    ${
      events.length > 1 &&
      html`<p class="approvals">${given} of ${count(needed, "event")} approved</p>`
    }
    <ul class="events">
      ${events
        .slice(0, events.length - rest)
        .map((event) => html`<${EventRow} key=${event.id} ...${{ item, event }} />`)}
    </ul>
    ${
      rest > 0 &&
      html`<button class="quiet more" onClick=${() => setShown(shown + MORE_EVENTS)}>
      Show ${Math.min(rest, MORE_EVENTS)} more of ${events.length} events
    </button>`
    }
  `;
}

/** @param {{item: Item, event: ScheduledEvent}} props */
function EventRow({ item, event }) {
  const { maintenance } = item;
  const [first, ...others] = event.resources;
  const isStandalone = !others.length && first === event.group;
  return html`<li>
    <div class="affected">
      <strong>${event.group}</strong>
      ${!isStandalone && html`${" "}<span class="soft">${few(event.resources)}</span>`}
    </div>
    <${Seen} item=${item} event=${event} />
    <div class=${event.approved_at ? "approved" : ""}>
      ${approvalPhrase(maintenance, event)}
      ${event.approved_at && html`, <${Time} at=${event.approved_at} />`}
    </div>
  </li>`;
}

/**
 * The number of VMs that have seen an event; expands to show their names.
 * @param {{item: Item, event: ScheduledEvent}} props
 */
function Seen({ item, event }) {
  const sighting = sightingOf(item, event);
  const phrase = seenPhrase(sighting);
  const sights = [...sighting.affected, ...sighting.others];
  if (!sights.length) return html`<div class="seen soft">${phrase}</div>`;
  return html`<details class="seen">
    <summary>${phrase}</summary>
    <ul>
      ${sights
        .slice(0, MOST_NAMES)
        .map(({ vm, at }) => html`<li key=${vm}>${vm}, <${Time} at=${at} /></li>`)}
      ${sighting.missing
        .slice(0, MOST_NAMES)
        .map((vm) => html`<li key=${vm} class="soft">${vm}: not seen yet</li>`)}
    </ul>
  </details>`;
}
