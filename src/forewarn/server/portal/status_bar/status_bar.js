// What stands at the foot of every page, where it pushes nothing away when it comes:
// faults and a clock that is not the system's.
// The faults in force, which nobody should take for the truth.
// Faults in words: what goes wrong, whom it befalls, how much is left.

import { count, few } from "../components.js";
import { countdown } from "../times.js";
import { html, useLayoutEffect, useMemo, useModel, useNow, useRef } from "../view.js";
import { ClockBar } from "./clock_bar.js";

/** @typedef {import("../types").Fault} Fault */

/**
 * All bars come at once, lest one move another. Their height is kept in `--bars`, for
 * what else would stand at the foot.
 */
export function Bars() {
  const { faults } = useModel();
  const shown = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const watch = new ResizeObserver(([entry]) =>
      style.setProperty("--bars", `${entry?.contentRect.height ?? 0}px`),
    );
    if (shown.current) watch.observe(shown.current);
    return () => watch.disconnect();
  }, []);
  return html`<footer class="bars">
    <div ref=${shown}>
      ${faults && html`<${FaultBar} faults=${faults} /><${ClockBar} />`}
    </div>
  </footer>`;
}

/** @param {{faults: Fault[]}} props */
export function FaultBar({ faults }) {
  const said = faults.length
    ? `${count(faults.length, "fault")} in force: VMs are answered wrongly on purpose.`
    : "";
  return html`<div>
    <p class="hidden" role="status">${said}</p>
    ${
      faults.length > 0 &&
      html`<section class="faultbar" aria-label="Faults in force">
      <p><strong>${said}</strong></p>
      <ul>
        ${faults.map((each) => html`<${One} key=${each.id} fault=${each} />`)}
      </ul>
    </section>`
    }
  </div>`;
}

/** @param {{fault: Fault}} props */
function One({ fault }) {
  useNow();
  const told = useMemo(() => performance.now(), [fault]);
  return html`<li>
    <strong>${whomOf(fault)}</strong>: ${whatOf(fault)};
    ${" "}<span class="left">${leftOf(fault, performance.now() - told)}</span>;
    ${" "}set by ${fault.set_by}
  </li>`;
}

/** @type {Record<string, string>} */
const KINDS = {
  "slow-first-call": "the first call of each VM is answered late",
  slow: "answered late",
  429: "answered 429, too many requests",
  410: "answered 410, gone",
  500: "answered 500, an error",
  503: "answered 503, unavailable",
  reset: "the connection is reset",
  truncated: "the answer ends in its middle",
  empty: "the answer is empty",
  stale: "the document is an old one",
  refused: "nobody listens",
};

/** @type {Record<string, string>} */
const REQUESTS = {
  any: "all requests",
  read: "reads",
  approve: "approvals",
};

/**
 * Say what a fault does.
 * @param {Fault} fault
 */
export function whatOf({ kind, delay_seconds: delay, probability }) {
  const parts = [KINDS[kind] ?? kind];
  if (delay) parts.push(`by ${delay} s`);
  if (probability !== undefined && probability < 1) {
    parts.push(`in ${Math.round(probability * 100)} % of cases`);
  }
  return parts.join(" ");
}

/**
 * Say whom a fault befalls.
 * @param {Fault} fault
 */
export function whomOf({ on, vms }) {
  return `${REQUESTS[on] ?? on} of ${vms.length ? few(vms) : "all VMs"}`;
}

/**
 * Say how much of a fault is left.
 * @param {Fault} fault
 * @param {number} elapsed real ms since it was told
 */
export function leftOf({ left, left_seconds: seconds }, elapsed) {
  const parts = [];
  if (left !== null) parts.push(`${count(left, "request")} left`);
  if (seconds !== null) parts.push(`${countdown(seconds * 1000 - elapsed)} left`);
  return parts.join(", ") || "until it is cleared";
}
