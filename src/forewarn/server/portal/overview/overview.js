// Overview page ("Now"): current maintenance by urgency, and the latest entries.

import { count, Standing, STANDINGS, Time, titleOf } from "../components.js";
import { FirstVisit } from "../first_visit.js";
import { hashOf } from "../route.js";
import { retryDelay } from "../service/refresh.js";
import { StoryLink } from "../story/sentence.js";
import { html, useApp, useEffect, useModel, useState } from "../view.js";
import { Card } from "./card.js";
import { Journal } from "./journal.js";
import { lastEnded, sectionsOf, summaryOf, URGENCIES } from "./sections.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("./sections.js").Urgency} Urgency */

const FIRST_CARDS = 20; // of a section
const MORE_CARDS = 50;
const MOST_ENDED = 5;
const END_FACTS = "fact=Completed&fact=Canceled&fact=Closed";

export function OverviewPage() {
  const model = useModel();
  const sections = sectionsOf(model.items.values());
  const isEmpty = URGENCIES.every((name) => !sections[name].length);
  const isPastLoaded = usePast(model.isLoaded && model.link.state !== "lost");
  useFleet(model.isLoaded && isEmpty);
  return html`<div class="now">
    <h1>Now</h1>
    <${Counts} sections=${sections} isLoaded=${model.isLoaded} />
    <div class="now-columns">
      <div class="now-live">
        ${!model.isLoaded && html`<${Skeleton} />`}
        ${URGENCIES.map((name) => {
          const items = sections[name];
          return html`<${Section} key=${name} name=${name} items=${items} />`;
        })}
        ${model.isLoaded && isEmpty && html`<${Empty} fleet=${model.fleet} />`}
      </div>
      ${
        model.isLoaded &&
        html`<div class="now-past">
        <${Journal} />
        <${JustEnded}
          items=${lastEnded(model.items.values(), MOST_ENDED)}
          isLoaded=${isPastLoaded}
        />
      </div>`
      }
    </div>
  </div>`;
}

// --- data ------------------------------------------------------------------------

/**
 * Load the maintenance that ended most recently, and reload it after each reconnection.
 * Retries until it succeeds. Maintenance that ends later arrives as a live update.
 * @param {boolean} isConnected
 * @returns {boolean} whether it is loaded
 */
function usePast(isConnected) {
  const { api, model } = useApp();
  const [isLoaded, setLoaded] = useState(false);
  useEffect(() => {
    if (!isConnected) return;
    let isOver = false;
    let timer = 0;
    const load = (failures = 0) => {
      void fetchEnded(api)
        .then(({ items, position }) => model.putItems(items, position))
        .then(() => setLoaded(true))
        .catch(() => {
          const retry = () => load(failures + 1);
          if (!isOver) timer = window.setTimeout(retry, retryDelay(failures));
        });
    };
    load();
    return () => {
      isOver = true;
      window.clearTimeout(timer);
    };
  }, [isConnected]);
  return isLoaded;
}

/**
 * @param {import("../service/api.js").Api} api
 * @returns {Promise<{items: Item[], position: number}>}
 */
async function fetchEnded(api) {
  const newest = `${END_FACTS}&order=newest&limit=${MOST_ENDED}`;
  const { items } = await api.get(`/v1/journal?${newest}`);
  if (!items.length) return { items, position: 0 };
  const query = new URLSearchParams();
  for (const { maintenance } of items) query.append("id", maintenance);
  return api.get(`/v1/overview?${query}`);
}

/**
 * Load the fleet if needed: the empty page summarizes it.
 * @param {boolean} isNeeded
 */
function useFleet(isNeeded) {
  const { live } = useApp();
  useEffect(() => {
    if (isNeeded) live.needFleet();
  }, [isNeeded]);
}

// --- components ------------------------------------------------------------------

/** @param {{sections: Record<Urgency, Item[]>, isLoaded: boolean}} props */
function Counts({ sections, isLoaded }) {
  return html`<p class="hidden" role="status">${isLoaded && summaryOf(sections)}</p>
    <ul class="counts" aria-label="Maintenance by status">
      ${URGENCIES.map((name) => {
        const { length } = sections[name];
        return html`<li key=${name}>
          <button
            class="card count ${length ? name : "none"}"
            disabled=${!length}
            onClick=${() => jumpTo(name)}
          >
            <strong>${isLoaded ? length.toLocaleString("en") : "–"}</strong>
            ${" "}<span>${STANDINGS[name]}</span>
          </button>
        </li>`;
      })}
    </ul>`;
}

/** @param {Urgency} name */
function jumpTo(name) {
  const heading = document.getElementById(`now-${name}`);
  heading?.scrollIntoView({ block: "start" });
  heading?.focus({ preventScroll: true });
}

/** @param {{name: Urgency, items: Item[]}} props */
function Section({ name, items }) {
  const [shown, setShown] = useState(FIRST_CARDS);
  if (!items.length) return null;
  const rest = items.length - shown;
  return html`<section aria-labelledby=${`now-${name}`}>
    <h2 id=${`now-${name}`} tabindex="-1">${STANDINGS[name]}</h2>
    <ul class="cards">
      ${items.slice(0, shown).map(
        (item) => html`<li key=${item.maintenance.id}>
          <${Card} item=${item} />
        </li>`,
      )}
    </ul>
    ${
      rest > 0 &&
      html`<button onClick=${() => setShown(shown + MORE_CARDS)}>
      Show ${Math.min(rest, MORE_CARDS)} more of ${items.length.toLocaleString("en")}
    </button>`
    }
  </section>`;
}

/** @param {{items: Item[], isLoaded: boolean}} props */
function JustEnded({ items, isLoaded }) {
  return html`<section class="just-ended" aria-labelledby="just-ended">
    <div class="just-ended-head">
      <h2 id="just-ended">Recently ended</h2>
      <a href=${hashOf("timeline")}>See all on the timeline</a>
    </div>
    ${isLoaded && !items.length && html`<p class="soft">None yet.</p>`}
    <ul aria-busy=${isLoaded ? "false" : "true"}>
      ${items.map(
        (item) => html`<li key=${item.maintenance.id}>
          <${Standing} item=${item} />
          <${StoryLink} id=${item.maintenance.id}>${titleOf(item.maintenance)}<//>
          <span class="soft">
            <${Time} at=${item.maintenance.ended_at ?? ""} relative />
          </span>
        </li>`,
      )}
    </ul>
  </section>`;
}

function Skeleton() {
  return html`<div class="skeleton" role="status" aria-label="Loading">
    <div class="card"></div>
    <div class="card"></div>
    <div class="card"></div>
  </div>`;
}

/**
 * Shown if no maintenance is announced: a fleet summary, or how to create a fleet.
 * @param {{fleet: import("../types").FleetMap | null}} props
 */
function Empty({ fleet }) {
  if (fleet === null) return html`<div class="empty calm" aria-busy="true"></div>`;
  return fleet.vms.name.length
    ? html`<${Calm} fleet=${fleet} />`
    : html`<${FirstVisit} />`;
}

/** @param {{fleet: import("../types").FleetMap}} props */
function Calm({ fleet }) {
  const disabled = fleet.groups.filter((group) => group.is_disabled).length;
  const have = disabled === 1 ? "has" : "have";
  const summary = disabled
    ? `disabled for ${count(disabled, "group")} that ${have} not polled for 24 hours`
    : "enabled for all groups";
  return html`<div class="empty calm">
    <h2>No maintenance is announced</h2>
    <p>
      ${count(fleet.vms.name.length, "VM")} in ${count(fleet.groups.length, "group")}.
      ${" "}Scheduled Events is ${summary}. <a href=${hashOf("fleet")}>See the fleet</a>
    </p>
  </div>`;
}
