// Modal dialogs, one at a time, and the state of each dialog's request.

import {
  AppContext,
  html,
  render,
  useApp,
  useEffect,
  useLayoutEffect,
  useModel,
  useRef,
  useState,
} from "../view.js";

/** @typedef {import("../view.js").App} App */

/** The element to focus: the first text field, or the first button at the bottom. */
const FIRST =
  ".dialog-body input:not([type=radio], [type=checkbox]), .dialog-acts button";

/**
 * Open a dialog. It stays open even if the button that opened it disappears.
 * @param {App} app
 * @param {(close: () => void) => unknown} draw
 */
export function openDialog(app, draw) {
  const opener = document.activeElement;
  const container = document.createElement("div");
  document.body.append(container);
  const close = () => {
    if (!container.isConnected) return; // already closed: leave the focus alone
    render(null, container);
    container.remove();
    restoreFocus(opener);
  };
  const content = html`<${AppContext.Provider} value=${app}>${draw(close)}<//>`;
  render(content, container);
}

/**
 * Move the focus back to `opener`, or to the page if it is gone.
 * @param {Element | null} opener
 */
function restoreFocus(opener) {
  const main = document.getElementById("main");
  const target = opener?.isConnected ? opener : main;
  if (target instanceof HTMLElement) target.focus();
}

/**
 * Frame of a dialog: title, content, close button and Escape.
 * @param {{title: string, close: () => void, isWide?: boolean, children?: unknown}} props
 */
export function Dialog({ title, close, isWide = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const { session } = useModel();
  useLayoutEffect(() => {
    const element = dialog.current;
    element?.showModal();
    const first = element?.querySelector(FIRST);
    if (first instanceof HTMLElement) first.focus();
    return () => element?.close();
  }, []);
  useEffect(() => {
    if (session === null) close();
  }, [session]);
  return html`<dialog
    ref=${dialog}
    class=${isWide ? "dialog wide" : "dialog"}
    aria-labelledby="dialog-title"
    onCancel=${(/** @type {Event} */ event) => {
      event.preventDefault();
      close();
    }}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
      // Holding Enter on the opening button must not confirm the dialog.
      if (event.repeat && event.key === "Enter") event.preventDefault();
    }}
  >
    <div class="dialog-head">
      <h2 id="dialog-title">${title}</h2>
      <button class="quiet" type="button" aria-label="Close" onClick=${close}>×</button>
    </div>
    ${children}
  </dialog>`;
}

/**
 * Run one request at a time. The dialog shows its error. If the dialog has been closed,
 * a toast shows the error instead.
 * @returns {{isBusy: boolean, error: string, setError: (text: string) => void,
 *   run: (request: () => Promise<void>) => Promise<void>}}
 */
export function useRequest() {
  const { notify } = useApp();
  const isGone = useRef(false);
  useEffect(() => () => void (isGone.current = true), []);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const isRunning = useRef(false); // a second click can come before the next redraw

  /** @param {() => Promise<void>} request */
  async function run(request) {
    if (isRunning.current) return;
    isRunning.current = true;
    setBusy(true);
    setError("");
    try {
      await request();
    } catch (failure) {
      const { message } = /** @type {Error} */ (failure);
      if (isGone.current) notify(message, "refused");
      else setError(message);
    } finally {
      isRunning.current = false;
      setBusy(false);
    }
  }

  return { isBusy, error, run, setError };
}
