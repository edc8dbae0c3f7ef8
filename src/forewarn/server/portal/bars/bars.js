// What stands at the foot of every page, where it pushes nothing away when it comes:
// faults and a clock that is not the system's.

import { ClockBar } from "./clock_bar.js";
import { FaultBar } from "./fault_bar.js";
import { html, useLayoutEffect, useModel, useRef } from "../view.js";

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
