// Status bar at the bottom of every page: service problems, exceeded limits, injected
// faults, and a clock that is not the system clock.

import { count, few } from "../components.js";
import { countdown } from "../times.js";
import { html, useLayoutEffect, useMemo, useModel, useNow, useRef } from "../view.js";
import { ClockBar } from "./clock_bar.js";

/** @typedef {import("../types").Fault} Fault */
/** @typedef {import("../types").LimitedCaller} LimitedCaller */
/** @typedef {import("../types").Problem} Problem */

/** @type {Record<string, string>} */
const REQUESTS = {
  any: "all requests",
  read: "polls",
  approve: "approvals",
};

/**
 * All bars appear at the same time, so that none shifts another. The CSS variable
 * `--bars` contains their total height, for other content at the bottom of the page.
 */
export function StatusBar() {
  const { faults, limits, health } = useModel();
  const bars = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const observer = new ResizeObserver(([entry]) =>
      style.setProperty("--bars", `${entry?.contentRect.height ?? 0}px`),
    );
    if (bars.current) observer.observe(bars.current);
    return () => observer.disconnect();
  }, []);
  return html`<footer class="bars">
    <div ref=${bars}>
      <${HealthBar} problems=${health} />
      ${
        faults &&
        html`<${LimitBar} limits=${limits} />
          <${FaultBar} faults=${faults} /><${ClockBar} />`
      }
    </div>
  </footer>`;
}

/** @param {{limits: LimitedCaller[]}} props */
function LimitBar({ limits }) {
  const text = describeLimits(limits);
  return html`<div>
    <p class="hidden" role="status">${text}</p>
    ${
      text &&
      html`<section class="limitbar" aria-label="Exceeded limits">
      <p><strong>${text}</strong></p>
    </section>`
    }
  </div>`;
}

/**
 * Describe the tokens and VMs whose requests were refused recently.
 * @param {LimitedCaller[]} limits
 */
export function describeLimits(limits) {
  if (!limits.length) return "";
  return `Limits exceeded: ${limits.map(({ text }) => text).join("; ")}`;
}

/**
 * Problems reported by the service. Screen readers announce them without their age,
 * which changes every second.
 * @param {{problems: Problem[]}} props
 */
export function HealthBar({ problems }) {
  return html`<div>
    <p class="hidden" role="status">${problems.map(({ text }) => text).join("; ")}</p>
    ${
      problems.length > 0 &&
      html`<section class="faultbar" aria-label="Service problems">
        <ul>
          ${problems.map((problem) => html`<${ProblemRow} key=${problem.text} problem=${problem} />`)}
        </ul>
      </section>`
    }
  </div>`;
}

/** @param {{problem: Problem}} props */
function ProblemRow({ problem }) {
  useNow();
  const receivedAt = useMemo(() => performance.now(), [problem]);
  return html`<li>${describeProblem(problem, performance.now() - receivedAt)}</li>`;
}

/**
 * Describe a problem and how long it has lasted.
 * @param {Problem} problem
 * @param {number} elapsed real ms since it was reported
 */
export function describeProblem({ text, seconds }, elapsed) {
  return seconds === null ? text : `${text} (for ${countdown(seconds * 1000 + elapsed)})`;
}

const FAULTY = "VMs receive intentionally faulty responses.";

/** @param {{faults: Fault[]}} props */
function FaultBar({ faults }) {
  const text = faults.length
    ? `${count(faults.length, "fault")} active. ${FAULTY}`
    : "";
  return html`<div>
    <p class="hidden" role="status">${text}</p>
    ${
      faults.length > 0 &&
      html`<section class="faultbar" aria-label="Active faults">
      <p><strong>${text}</strong></p>
      <ul>
        ${faults.map((fault) => html`<${FaultRow} key=${fault.id} fault=${fault} />`)}
      </ul>
    </section>`
    }
  </div>`;
}

/** @param {{fault: Fault}} props */
function FaultRow({ fault }) {
  useNow();
  const receivedAt = useMemo(() => performance.now(), [fault]);
  const left = remainingOf(fault, performance.now() - receivedAt);
  return html`<li>
    <strong>${scopeOf(fault)}</strong>: ${fault.text};
    ${" "}<span class="left">${left}</span>;
    ${" "}set by ${fault.set_by}
  </li>`;
}

/**
 * Describe the requests that a fault applies to.
 * @param {Fault} fault
 */
export function scopeOf({ on, vms }) {
  return `${REQUESTS[on] ?? on} from ${vms.length ? few(vms) : "all VMs"}`;
}

/**
 * Describe how long a fault still applies.
 * @param {Fault} fault
 * @param {number} elapsed real ms since it was reported
 */
export function remainingOf({ left, left_seconds: seconds }, elapsed) {
  const parts = [];
  if (left !== null) parts.push(`${count(left, "request")} left`);
  if (seconds !== null) parts.push(`${countdown(seconds * 1000 - elapsed)} left`);
  return parts.join(", ") || "until cleared";
}
