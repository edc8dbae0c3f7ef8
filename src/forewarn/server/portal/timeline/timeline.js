// The Timeline page: past and future in one picture.

import { count } from "../components.js";
import {
  html,
  useApp,
  useEffect,
  useMemo,
  useModel,
  useRef,
  useState,
} from "../view.js";
import { extentOf, momentsOf } from "./bars.js";
import { Chart } from "./chart.js";
import { useChoice } from "./choice.js";
import { Shown, Tools } from "./controls.js";
import { hostsOf, lanesOf } from "./lanes.js";
import { useKeys } from "./navigation.js";
import { fitted, stretchOf } from "./scale.js";
import { LaneTable } from "./table.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").Stretch} Stretch */
/** @typedef {import("./scale.js").View} View */

const HAIR = 500; // steps in which now goes through a stretch: about 2 px each

export function TimelinePage() {
  const model = useModel();
  const choice = useChoice();
  const { view, by, search, asTable } = choice;
  const now = useNowBy(view.span / HAIR);
  const stretch = stretchOf(view, now);
  const isReady = useData(choice, stretch);
  const fleet = model.fleet;
  const hostOf = useMemo(() => (fleet ? hostsOf(fleet) : new Map()), [fleet]);
  const asked = { by, hostOf, stretch, now, search };
  const lanes = isReady ? lanesOf(model.items.values(), asked) : [];
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useKeys(section, choice, now);
  const Picture = asTable ? LaneTable : Chart;
  return html`<section class="timeline" aria-label="Timeline" ref=${section}>
    <div class="heading">
      <h1>Timeline</h1>
      <${Shown} choice=${choice} stretch=${stretch} now=${now} isReady=${isReady} />
    </div>
    <${Tools} choice=${choice} now=${now} />
    <${Picture}
      choice=${choice}
      lanes=${lanes}
      stretch=${stretch}
      now=${now}
      isReady=${isReady}
    >
      ${isReady && !lanes.length && html`<${Nothing} choice=${choice} now=${now} />`}
    <//>
  </section>`;
}

/**
 * Be drawn again whenever the service's clock has gone on by so much.
 * @param {number} step in ms
 */
function useNowBy(step) {
  const { model } = useApp();
  const steps = () => Math.floor(model.clock.now() / step);
  const [, redraw] = useState(0);
  useEffect(() => model.onTick(() => redraw(steps())), [model, step]);
  return steps() * step;
}

/**
 * Ask for all that is shown.
 * @param {Choice} choice
 * @param {Stretch} stretch
 * @returns {boolean} whether it is there
 */
function useData({ by, view }, stretch) {
  const { live, model } = useApp();
  const [isPastKnown, setPastKnown] = useState(model.pastSince !== null);
  const { isLoaded, link, fleet } = model;
  // more than is shown, so that not every movement asks for more
  const since = (Math.floor(stretch.from / view.span) - 1) * view.span;
  useEffect(() => {
    if (!isLoaded) return;
    const known = () => setPastKnown(true);
    void live.needPast(since).then(known, known); // asked again when the link is back
  }, [isLoaded, link.state, since]);
  const needsFleet = by === "host" || (isLoaded && !model.items.size);
  useEffect(() => {
    if (needsFleet) live.needFleet();
  }, [needsFleet]);
  const isReady = isLoaded && isPastKnown && (!needsFleet || fleet !== null);
  useEffect(() => {
    if (isReady) performance.mark("forewarn:timeline");
  }, [isReady]);
  return isReady;
}

/**
 * What to do when there is nothing to see.
 * @param {{choice: Choice, now: number}} props
 */
function Nothing({ choice, now }) {
  const model = useModel();
  const { fleet, items } = model;
  if (fleet && !fleet.vms.name.length && !items.size) {
    return html`<div class="empty">
      <p>There is no VM in the fleet yet. Write a fleet file and apply it:</p>
      <p><code>forewarn fleet apply fleet.toml</code></p>
    </div>`;
  }
  if (choice.search) {
    return html`<div class="empty">
      <p>No ${choice.by} with “${choice.search}” in its name has anything here.</p>
      <p><button onClick=${() => choice.set({ search: "" })}>Show all</button></p>
    </div>`;
  }
  const live = model.live();
  if (live.length) {
    const extents = live.map((each) => extentOf(momentsOf(each), now, 0));
    const all = fitted(extents.flatMap((each) => [each.from, each.to]));
    return html`<div class="empty">
      <p>Nothing happens in this time, but before or after it.</p>
      <p>
        <button onClick=${() => choice.set({ view: all })}>
          Show ${count(live.length, "live maintenance")}
        </button>
      </p>
    </div>`;
  }
  return html`<div class="empty">
    <p>Nothing happens in this time, and nothing is announced. To announce:</p>
    <p><code>forewarn announce Reboot --host NAME</code></p>
  </div>`;
}
