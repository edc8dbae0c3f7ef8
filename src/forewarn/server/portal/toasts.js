// What came of what was asked: said once, read aloud, gone after a while.

import { html, useEffect, useMemo, useState } from "./view.js";

/** @typedef {{id: number, said: string, kind: "done" | "refused"}} Toast */

const SHOWN = 8000; // ms; what was refused stays until it is put away

/** Keep what was said. */
export function useToasts() {
  const [toasts, setToasts] = useState(/** @type {Toast[]} */ ([]));
  const kept = useMemo(() => {
    let last = 0;
    const drop = (/** @type {number} */ id) =>
      setToasts((all) => all.filter((each) => each.id !== id));
    const say = (
      /** @type {string} */ said,
      /** @type {"done" | "refused"} */ kind = "done",
    ) => {
      last += 1;
      const toast = { id: last, said, kind };
      setToasts((all) => [...all.slice(-3), toast]);
    };
    return { say, drop, clear: () => setToasts([]) };
  }, []);
  return { toasts, ...kept };
}

/** @param {{toasts: Toast[], drop: (id: number) => void}} props */
export function Toasts({ toasts, drop }) {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.map((each) => html`<${One} key=${each.id} toast=${each} drop=${drop} />`)}
  </div>`;
}

/** @param {{toast: Toast, drop: (id: number) => void}} props */
function One({ toast, drop }) {
  const { id, said, kind } = toast;
  useEffect(() => {
    if (kind === "refused") return undefined;
    const timer = setTimeout(() => drop(id), SHOWN);
    return () => clearTimeout(timer);
  }, [id]);
  return html`<div class="toast ${kind}">
    <span>${said}</span>
    <button class="quiet" aria-label="Put away" onClick=${() => drop(id)}>×</button>
  </div>`;
}
