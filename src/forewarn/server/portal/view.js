// Preact, htm, hooks, and the application context shared by all components.

import { createContext, h, render } from "./vendor/preact.js";
import {
  useContext,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from "./vendor/hooks.js";
import htm from "./vendor/htm.js";

export { createContext, render };
export { useEffect, useLayoutEffect, useMemo, useRef, useState };

export const html = htm.bind(h);

/**
 * @typedef {object} App services available to every component
 * @property {import("./service/model.js").Model} model
 * @property {import("./service/live.js").Live} live
 * @property {import("./service/api.js").Api} api
 * @property {(text: string, kind?: "done" | "refused") => void} notify shows a toast
 */

/** @type {import("preact").Context<App | null>} */
export const AppContext = createContext(/** @type {App | null} */ (null));

const OUTSIDE = "this component must be rendered inside AppContext.Provider";

/**
 * Return the application context.
 * @returns {App}
 */
export function useApp() {
  const app = useContext(AppContext);
  if (app === null) throw new Error(OUTSIDE);
  return app;
}

/**
 * Return the model, and redraw whenever it changes.
 * @returns {import("./service/model.js").Model}
 */
export function useModel() {
  const { model } = useApp();
  const [, redraw] = useState(0);
  useEffect(() => model.subscribe(() => redraw((count) => count + 1)), [model]);
  return model;
}

/**
 * Return the current time, and redraw every second.
 * @returns {number} the service's time in ms
 */
export function useNow() {
  const { model } = useApp();
  const [, redraw] = useState(0);
  useEffect(() => model.onTick(() => redraw((count) => count + 1)), [model]);
  return model.clock.now();
}
