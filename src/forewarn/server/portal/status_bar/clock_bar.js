// The service's clock, where it is not the system's, and moving it by hand.
// How far a clock is moved, and in words what kind of clock it is.

import { useAsking } from "../actions/dialog.js";
import { freshKey, Refused } from "../service/api.js";
import { rateOf } from "../service/clock.js";
import { countdown, local, ms, notADuration, secondsOf, utc } from "../times.js";
import { html, useApp, useModel, useNow, useRef, useState } from "../view.js";

/** @returns {unknown} */
export function ClockBar() {
  const model = useModel();
  const { clock } = model;
  if (clock.isSystem) return null;
  return html`<section class="clockbar" aria-label="The service's clock">
    <p>
      <span class="badge warn">${clock.name}</span>
      <${Hands} />
      <span class="soft">${kindOf(clock.name)}</span>
    </p>
    ${clock.isManual && model.may("advance") && html`<${Advance} />`}
  </section>`;
}

/** What time it is for the service. */
function Hands() {
  const now = useNow();
  return html`<time
    class="hands"
    datetime=${new Date(now).toISOString()}
    title=${utc(now)}
    >${local(now, 0)}</time
  >`;
}

/** Moves the clock, and shows how far it has come. */
function Advance() {
  const [isOpen, setOpen] = useState(false); // where there is little room
  const moving = useMoving();
  const { target, isAsking, refusal, done } = moving;
  return html`<button
      type="button"
      class="unfold"
      aria-expanded=${isOpen ? "true" : "false"}
      onClick=${() => setOpen(!isOpen)}
    >
      Advance…
    </button>
    <div
      class=${isOpen ? "advance open" : "advance"}
      role="group"
      aria-label="Advance the clock"
    >
      <${Steps} ...${moving} />
      <${By} ...${moving} />
      <${Progress} target=${isAsking ? target : null} />
      <p id="advance-refusal" class="refusal" role="alert">${refusal}</p>
      <p class="hidden" role="status">${done}</p>
    </div>`;
}

/** @param {{move: (step: Step) => void, isAsking: boolean}} props */
function Steps({ move, isAsking }) {
  const { model } = useApp();
  const next = nextNotBefore(model.live(), model.clock.now());
  return html`${[1, 15].map(
    (minutes) => html`<button
        key=${minutes}
        type="button"
        disabled=${isAsking}
        onClick=${() => move({ seconds: minutes * 60 })}
      >
        +${minutes} min
      </button>`,
  )}
    <button
      type="button"
      disabled=${isAsking || next === null}
      title=${next ? `The next one: ${local(next, 0)}` : "Nothing is scheduled"}
      onClick=${() => next && move({ to: next })}
    >
      To NotBefore
    </button>`;
}

/**
 * @param {{move: (step: Step) => void, refuse: (said: string) => void,
 *   isAsking: boolean}} props
 */
function By({ move, refuse, isAsking }) {
  const [text, setText] = useState("");

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const seconds = secondsOf(text);
    if (seconds === null) refuse(notADuration(text));
    else move({ seconds });
  }

  return html`<form class="by" onSubmit=${submit} novalidate>
    <input
      aria-label="Advance by"
      aria-describedby="advance-refusal"
      placeholder="2h30m"
      autocomplete="off"
      value=${text}
      onInput=${(/** @type {Event} */ event) =>
        setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <button class="primary" disabled=${isAsking}>Advance</button>
  </form>`;
}

/** Move the clock once at a time. An answer that was lost is asked for again. */
function useMoving() {
  const { api, model } = useApp();
  const [done, setDone] = useState("");
  const { isAsking, refusal, ask, refuse } = useAsking();
  const [target, setTarget] = useState(0); // where it goes, in ms
  const unknown = useRef(/** @type {{of: string, key: string} | null} */ (null));

  /** @param {Step} step */
  function move(step) {
    const of = JSON.stringify(step);
    const { key } = unknown.current?.of === of ? unknown.current : { key: freshKey() };
    unknown.current = { of, key };
    setTarget(stepOf(step, model.clock.now()));
    void ask(async () => {
      try {
        const { clock, now } = await api.post("/v1/clock/advance", step, key);
        unknown.current = null;
        model.setClock(clock, now);
        setDone(`The clock is at ${local(now, 0)}.`);
      } catch (error) {
        if (error instanceof Refused && error.status !== 0) unknown.current = null;
        throw error;
      }
    });
  }

  return { move, refuse, target, isAsking, refusal, done };
}

/**
 * How far it is: everything that falls due on the way happens first.
 * @param {{target: number | null}} props null: it stands
 */
function Progress({ target }) {
  const now = useNow();
  const from = useRef(now);
  if (target === null) from.current = now;
  if (target === null) return null;
  const share = (now - from.current) / Math.max(target - from.current, 1);
  const left = countdown(target - now);
  return html`<progress
    aria-label="Advancing the clock"
    title=${`${left} left`}
    max="1"
    value=${share > 0 ? share : undefined}
  ></progress>`;
}

/** @typedef {{seconds: number} | {to: string}} Step */

/**
 * Say what kind of clock one of this name is.
 * @param {string} name
 */
export function kindOf(name) {
  if (name === "manual") return "moves by hand";
  const rate = rateOf(name);
  return rate >= 1 ? `${rate} times as fast` : `at ${rate} of the usual speed`;
}

/**
 * Find the next NotBefore of what has not started.
 * @param {import("../types").Item[]} items
 * @param {number} now
 * @returns {string | null} null: there is none
 */
export function nextNotBefore(items, now) {
  /** @type {string | null} */
  let next = null;
  for (const { maintenance } of items) {
    const { not_before, started_at } = maintenance;
    if (started_at || ms(not_before) <= now) continue;
    if (next === null || ms(not_before) < ms(next)) next = not_before;
  }
  return next;
}

/**
 * Reckon where a step leads to.
 * @param {Step} step
 * @param {number} now
 * @returns {number} in ms
 */
export function stepOf(step, now) {
  return "to" in step ? ms(step.to) : now + step.seconds * 1000;
}
