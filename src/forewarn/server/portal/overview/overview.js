// The Now page: what is stuck, under way, held or to come, and what happened last.
// What the Now page says if nothing is announced: what to do, or that all is well.

import { count, Standing, STANDINGS, Time, titleOf } from "../components.js";
import { FirstVisit } from "../first_visit.js";
import { hashOf } from "../route.js";
import { StoryLink } from "../story/sentence.js";
import { html, useApp, useEffect, useModel, useState } from "../view.js";
import { Card } from "./card.js";
import { LastFacts } from "./journal.js";
import { lastEnded, sectionsOf, summary, URGENCIES } from "./sections.js";

/** @typedef {import("../types").Item} Item */
/** @typedef {import("./sections.js").Urgency} Urgency */

const AT_FIRST = 20;
const MORE = 50;
const ENDED = 5;
const ENDS = "fact=Completed&fact=Canceled&fact=Closed";

export function NowPage() {
  const model = useModel();
  const sections = sectionsOf(model.items.values());
  const isEmpty = URGENCIES.every((name) => !sections[name].length);
  const isPastKnown = usePast(model.isLoaded && model.link.state !== "lost");
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
        <${LastFacts} />
        <${JustEnded}
          items=${lastEnded(model.items.values(), ENDED)}
          isKnown=${isPastKnown}
        />
      </div>`
      }
    </div>
  </div>`;
}

// --- what is asked for beside it ---------------------------------------------

/**
 * Ask for the few that ended last, after each break again; those that end from now on
 * come by themselves.
 * @param {boolean} isThere whether the service answers
 * @returns {boolean} whether they are known
 */
function usePast(isThere) {
  const { api, model } = useApp();
  const [isKnown, setKnown] = useState(false);
  useEffect(() => {
    if (!isThere) return;
    void askEnded(api)
      .then(({ items, position }) => model.putItems(items, position))
      .then(() => setKnown(true))
      .catch(() => {}); // the page says that the connection is lost
  }, [isThere]);
  return isKnown;
}

/**
 * @param {import("../service/api.js").Api} api
 * @returns {Promise<{items: Item[], position: number}>}
 */
async function askEnded(api) {
  const { items } = await api.get(`/v1/journal?${ENDS}&order=newest&limit=${ENDED}`);
  if (!items.length) return { items, position: 0 };
  const query = new URLSearchParams();
  for (const each of items) query.append("id", each.maintenance);
  return api.get(`/v1/overview?${query}`);
}

/**
 * Ask for the fleet, if it is all there is to tell about.
 * @param {boolean} isWanted
 */
function useFleet(isWanted) {
  const { live } = useApp();
  useEffect(() => {
    if (isWanted) live.needFleet();
  }, [isWanted]);
}

// --- parts -------------------------------------------------------------------

/** @param {{sections: Record<Urgency, Item[]>, isLoaded: boolean}} props */
function Counts({ sections, isLoaded }) {
  return html`<p class="hidden" role="status">${isLoaded && summary(sections)}</p>
    <ul class="counts" aria-label="How many there are">
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
  const [shown, setShown] = useState(AT_FIRST);
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
      html`<button onClick=${() => setShown(shown + MORE)}>
      Show ${Math.min(rest, MORE)} more of ${items.length.toLocaleString("en")}
    </button>`
    }
  </section>`;
}

/** @param {{items: Item[], isKnown: boolean}} props */
function JustEnded({ items, isKnown }) {
  return html`<section class="just-ended" aria-labelledby="just-ended">
    <div class="just-ended-head">
      <h2 id="just-ended">Just ended</h2>
      <a href=${hashOf("timeline")}>All on the timeline</a>
    </div>
    ${isKnown && !items.length && html`<p class="soft">Nothing yet.</p>`}
    <ul aria-busy=${isKnown ? "false" : "true"}>
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

/** @param {{fleet: import("../types").FleetMap | null}} props */
export function Empty({ fleet }) {
  if (fleet === null) return html`<div class="empty calm" aria-busy="true"></div>`;
  return fleet.vms.name.length
    ? html`<${Calm} fleet=${fleet} />`
    : html`<${FirstVisit} />`;
}

/** @param {{fleet: import("../types").FleetMap}} props */
function Calm({ fleet }) {
  const silent = fleet.groups.filter((each) => each.is_silent).length;
  const have = silent === 1 ? "is silent: it has" : "are silent: they have";
  const said = silent
    ? `${count(silent, "group")} ${have} not asked for events in 24 h`
    : "none of them is silent";
  return html`<div class="empty calm">
    <h2>Nothing is announced.</h2>
    <p>
      ${count(fleet.vms.name.length, "VM")} in ${count(fleet.groups.length, "group")};
      ${" "}${said}. <a href=${hashOf("fleet")}>See the fleet</a>
    </p>
  </div>`;
}
