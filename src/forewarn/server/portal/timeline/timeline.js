// Timeline page: past and upcoming maintenance in one picture.

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
import { RangeText, Toolbar } from "./controls.js";
import { hostsOf, lanesOf } from "./lanes.js";
import { useKeys } from "./navigation.js";
import { fit, rangeOf } from "./scale.js";
import { LaneTable } from "./table.js";

/** @typedef {import("./choice.js").Choice} Choice */
/** @typedef {import("./scale.js").TimeRange} TimeRange */
/** @typedef {import("./scale.js").View} View */

const STEPS = 500; // in which now moves across a range: about 2 px each

export function TimelinePage() {
  const model = useModel();
  const choice = useChoice();
  const { view, by, search, asTable } = choice;
  const now = useNowInSteps(view.span / STEPS);
  const range = rangeOf(view, now);
  const isReady = useData(choice, range);
  const fleet = model.fleet;
  const hostOf = useMemo(() => (fleet ? hostsOf(fleet) : new Map()), [fleet]);
  const options = { by, hostOf, range, now, search };
  const lanes = isReady ? lanesOf(model.items.values(), options) : [];
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useKeys(section, choice, now);
  const Picture = asTable ? LaneTable : Chart;
  return html`<section class="timeline" aria-label="Timeline" ref=${section}>
    <div class="heading">
      <h1>Timeline</h1>
      <${RangeText} choice=${choice} range=${range} now=${now} isReady=${isReady} />
    </div>
    <${Toolbar} choice=${choice} now=${now} />
    <${Picture}
      choice=${choice}
      lanes=${lanes}
      range=${range}
      now=${now}
      isReady=${isReady}
    >
      ${isReady && !lanes.length && html`<${Nothing} choice=${choice} now=${now} />`}
    <//>
  </section>`;
}

/**
 * Return the service's time rounded down to `step`, and redraw when it changes.
 * @param {number} step in ms
 */
function useNowInSteps(step) {
  const { model } = useApp();
  const steps = () => Math.floor(model.clock.now() / step);
  const [, redraw] = useState(0);
  useEffect(() => model.onTick(() => redraw(steps())), [model, step]);
  return steps() * step;
}

/**
 * Load everything in the range.
 * @param {Choice} choice
 * @param {TimeRange} range
 * @returns {boolean} whether it is loaded
 */
function useData({ by, view }, range) {
  const { live, model } = useApp();
  const [isPastLoaded, setPastLoaded] = useState(model.pastSince !== null);
  const { isLoaded, link, fleet } = model;
  // more than is shown, so that not every move needs a request
  const since = (Math.floor(range.from / view.span) - 1) * view.span;
  useEffect(() => {
    if (!isLoaded) return;
    const done = () => setPastLoaded(true);
    void live.needPast(since).then(done, done); // on failure: retried once connected
  }, [isLoaded, link.state, since]);
  const needsFleet = by === "host" || (isLoaded && !model.items.size);
  useEffect(() => {
    if (needsFleet) live.needFleet();
  }, [needsFleet]);
  const isReady = isLoaded && isPastLoaded && (!needsFleet || fleet !== null);
  useEffect(() => {
    if (isReady) performance.mark("forewarn:timeline");
  }, [isReady]);
  return isReady;
}

/**
 * Shown if there are no lanes: explains why and what to do.
 * @param {{choice: Choice, now: number}} props
 */
function Nothing({ choice, now }) {
  const model = useModel();
  const { fleet, items } = model;
  if (fleet && !fleet.vms.name.length && !items.size) {
    return html`<div class="empty">
      <p>There are no VMs in the fleet yet. Create a fleet file, and then run:</p>
      <p><code>forewarn fleet apply fleet.toml</code></p>
    </div>`;
  }
  if (choice.search) {
    return html`<div class="empty">
      <p>No ${choice.by} matching “${choice.search}” has maintenance in this period.</p>
      <p><button onClick=${() => choice.set({ search: "" })}>Clear search</button></p>
    </div>`;
  }
  const live = model.live();
  if (live.length) {
    const extents = live.map((item) => extentOf(momentsOf(item), now, 0));
    const all = fit(extents.flatMap(({ from, to }) => [from, to]));
    return html`<div class="empty">
      <p>There is maintenance before or after this period, but none within it.</p>
      <p>
        <button onClick=${() => choice.set({ view: all })}>
          Show ${count(live.length, "maintenance operation")}
        </button>
      </p>
    </div>`;
  }
  return html`<div class="empty">
    <p>
      This period has no maintenance, and none is announced. To announce maintenance,
      run:
    </p>
    <p><code>forewarn announce Reboot --host NAME</code></p>
  </div>`;
}
