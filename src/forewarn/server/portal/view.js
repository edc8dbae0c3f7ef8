// Preact and htm under one roof, and what every component is given.

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
 * @typedef {object} App what every component can reach
 * @property {import("./service/model.js").Model} model
 * @property {import("./service/live.js").Live} live
 * @property {import("./service/api.js").Api} api
 * @property {(said: string, kind?: "done" | "refused") => void} say
 */

/** @type {import("preact").Context<App | null>} */
export const AppContext = createContext(/** @type {App | null} */ (null));

/**
 * Reach what the page is made of.
 * @returns {App}
 */
export function useApp() {
  const app = useContext(AppContext);
  if (app === null) throw new Error("there is no application around this component");
  return app;
}

/**
 * Reach the model, and be drawn again whenever it changes.
 * @returns {import("./service/model.js").Model}
 */
export function useModel() {
  const { model } = useApp();
  const [, redraw] = useState(0);
  useEffect(() => model.subscribe(() => redraw((count) => count + 1)), [model]);
  return model;
}

/**
 * Be drawn again every second, as countdowns are.
 * @returns {number} the service's time in ms
 */
export function useNow() {
  const { model } = useApp();
  const [, redraw] = useState(0);
  useEffect(() => model.onTick(() => redraw((count) => count + 1)), [model]);
  return model.clock.now();
}
