// Dialogs: over the page, one at a time, and gone without a trace.

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

// Where one begins: in the first line of text, else at the way back.
const FIRST =
  ".dialog-body input:not([type=radio], [type=checkbox]), .dialog-acts button";

/**
 * Open a dialog. It does not belong to what was pressed, which may vanish meanwhile.
 * @param {App} app
 * @param {(close: () => void) => unknown} draw
 */
export function openDialog(app, draw) {
  const before = document.activeElement;
  const place = document.createElement("div");
  document.body.append(place);
  const close = () => {
    if (!place.isConnected) return; // who has left it does something else meanwhile
    render(null, place);
    place.remove();
    giveBack(before);
  };
  const shown = html`<${AppContext.Provider} value=${app}>${draw(close)}<//>`;
  render(shown, place);
}

/**
 * Put the focus where it was, or on the page if that is gone.
 * @param {Element | null} before
 */
function giveBack(before) {
  const main = document.getElementById("main");
  const target = before?.isConnected ? before : main;
  if (target instanceof HTMLElement) target.focus();
}

/**
 * What every dialog has: a title, its content, and Escape.
 * @param {{title: string, close: () => void, isWide?: boolean, children?: unknown}} props
 */
export function Dialog({ title, close, isWide = false, children }) {
  const dialog = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const { session } = useModel();
  useLayoutEffect(() => {
    const shown = dialog.current;
    shown?.showModal();
    const first = shown?.querySelector(FIRST);
    if (first instanceof HTMLElement) first.focus();
    return () => shown?.close();
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
      // A key that is held down would do what it has just asked about.
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
 * Ask the service once at a time; keep its sentence if it refuses, or say it aloud if
 * there is no place for it any more.
 * @returns {{isAsking: boolean, refusal: string, refuse: (said: string) => void,
 *   ask: (asking: () => Promise<void>) => Promise<void>}}
 */
export function useAsking() {
  const { say } = useApp();
  const isGone = useRef(false);
  useEffect(() => () => void (isGone.current = true), []);
  const [isAsking, setAsking] = useState(false);
  const [refusal, setRefusal] = useState("");
  const isBusy = useRef(false); // a second click may come before the next drawing

  /** @param {() => Promise<void>} asking */
  async function ask(asking) {
    if (isBusy.current) return;
    isBusy.current = true;
    setAsking(true);
    setRefusal("");
    try {
      await asking();
    } catch (error) {
      const { message } = /** @type {Error} */ (error);
      if (isGone.current) say(message, "refused");
      else setRefusal(message);
    } finally {
      isBusy.current = false;
      setAsking(false);
    }
  }

  return { isAsking, refusal, ask, refuse: setRefusal };
}
