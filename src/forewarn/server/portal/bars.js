// What stands at the foot of every page, where it pushes nothing away when it comes:
// faults and a clock that is not the system's.

import { ClockBar } from "./clockbar.js";
import { FaultBar } from "./faultbar.js";
import { html, useLayoutEffect, useRef } from "./view.js";

/** The height is kept in `--bars`, for what else would stand at the foot. */
export function Bars() {
  const bars = useRef(/** @type {HTMLElement | null} */ (null));
  useLayoutEffect(() => {
    const { style } = document.documentElement;
    const watch = new ResizeObserver(([entry]) =>
      style.setProperty("--bars", `${entry?.contentRect.height ?? 0}px`),
    );
    if (bars.current) watch.observe(bars.current);
    return () => watch.disconnect();
  }, []);
  return html`<footer class="bars" ref=${bars}><${FaultBar} /><${ClockBar} /></footer>`;
}
