// Toasts: short messages about actions that succeeded or failed.

import { Sentence } from "./story/sentence.js";
import { html, useEffect, useMemo, useState } from "./view.js";

/** @typedef {{id: number, text: string, kind: "done" | "refused"}} Toast */

const DURATION = 8000; // ms; a failure stays until the user dismisses it

/** Keep the list of toasts. */
export function useToasts() {
  const [toasts, setToasts] = useState(/** @type {Toast[]} */ ([]));
  const actions = useMemo(() => {
    let last = 0;
    const drop = (/** @type {number} */ id) =>
      setToasts((all) => all.filter((toast) => toast.id !== id));
    const notify = (
      /** @type {string} */ text,
      /** @type {"done" | "refused"} */ kind = "done",
    ) => {
      last += 1;
      const toast = { id: last, text, kind };
      setToasts((all) => [...all.slice(-3), toast]);
    };
    return { notify, drop, clear: () => setToasts([]) };
  }, []);
  return { toasts, ...actions };
}

/** @param {{toasts: Toast[], drop: (id: number) => void}} props */
export function Toasts({ toasts, drop }) {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.map((toast) => html`<${Message} key=${toast.id} ...${{ toast, drop }} />`)}
  </div>`;
}

/** @param {{toast: Toast, drop: (id: number) => void}} props */
function Message({ toast, drop }) {
  const { id, text, kind } = toast;
  useEffect(() => {
    if (kind === "refused") return undefined;
    const timer = setTimeout(() => drop(id), DURATION);
    return () => clearTimeout(timer);
  }, [id]);
  return html`<div class="toast ${kind}">
    <span><${Sentence} text=${text} isPlain /></span>
    <button class="quiet" aria-label="Dismiss" onClick=${() => drop(id)}>×</button>
  </div>`;
}
