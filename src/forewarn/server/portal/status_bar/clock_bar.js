// Clock bar: shows a clock that is not the system clock, and advances a manual clock.

import { useRequest } from "../actions/dialog.js";
import { newKey, RequestError } from "../service/api.js";
import { rateOf } from "../service/clock.js";
import { countdown, durationError, local, ms, parseDuration, utc } from "../times.js";
import { Sentence } from "../story/sentence.js";
import { html, useApp, useModel, useNow, useRef, useState } from "../view.js";

/** @typedef {{seconds: number} | {to: string}} Step a duration, or a target time */

/** @returns {unknown} */
export function ClockBar() {
  const model = useModel();
  const { clock } = model;
  if (clock.isSystem) return null;
  return html`<section class="clockbar" aria-label="Service clock">
    <p>
      <span class="badge warn">${clock.name}</span>
      <${CurrentTime} />
      <span class="soft">${describeClock(clock.name)}</span>
    </p>
    ${clock.isManual && model.may("advance") && html`<${Advance} />`}
  </section>`;
}

/** The service's time. */
function CurrentTime() {
  const now = useNow();
  return html`<time
    class="hands"
    datetime=${new Date(now).toISOString()}
    title=${utc(now)}
    >${local(now, 0)}</time
  >`;
}

/** Controls that advance the clock, and the progress. */
function Advance() {
  const [isOpen, setOpen] = useState(false); // on narrow screens
  const advance = useAdvance();
  const { target, isBusy, error, done } = advance;
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
      <${StepButtons} ...${advance} />
      <${StepForm} ...${advance} />
      <${Progress} target=${isBusy ? target : null} />
      <p id="advance-refusal" class="refusal" role="alert">
        <${Sentence} text=${error} isPlain />
      </p>
      <p class="hidden" role="status">${done}</p>
    </div>`;
}

/** @param {{move: (step: Step) => void, isBusy: boolean}} props */
function StepButtons({ move, isBusy }) {
  const { model } = useApp();
  const next = nextNotBefore(model.live(), model.clock.now());
  return html`${[1, 15].map(
    (minutes) => html`<button
        key=${minutes}
        type="button"
        disabled=${isBusy}
        onClick=${() => move({ seconds: minutes * 60 })}
      >
        +${minutes} min
      </button>`,
  )}
    <button
      type="button"
      disabled=${isBusy || next === null}
      title=${next ? `Next: ${local(next, 0)}` : "No maintenance is scheduled"}
      onClick=${() => next && move({ to: next })}
    >
      To next NotBefore
    </button>`;
}

/**
 * @param {{move: (step: Step) => void, setError: (text: string) => void,
 *   isBusy: boolean}} props
 */
function StepForm({ move, setError, isBusy }) {
  const [text, setText] = useState("");

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const seconds = parseDuration(text);
    if (seconds === null) setError(durationError(text));
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
    <button class="primary" disabled=${isBusy}>Advance</button>
  </form>`;
}

/**
 * Advance the clock, one request at a time. A step whose response was lost is repeated
 * with the same idempotency key.
 */
function useAdvance() {
  const { api, model } = useApp();
  const [done, setDone] = useState("");
  const { isBusy, error, run, setError } = useRequest();
  const [target, setTarget] = useState(0); // in ms
  const pending = useRef(/** @type {{json: string, key: string} | null} */ (null));

  /** @param {Step} step */
  function move(step) {
    const json = JSON.stringify(step);
    const isRetry = pending.current?.json === json;
    const key = (isRetry && pending.current?.key) || newKey();
    pending.current = { json, key };
    setTarget(targetOf(step, model.clock.now()));
    void run(async () => {
      try {
        const { clock, now } = await api.post("/v1/clock/advance", step, key);
        pending.current = null;
        model.setClock(clock, now);
        setDone(`The clock now shows ${local(now, 0)}.`);
      } catch (failure) {
        const isAnswered = failure instanceof RequestError && failure.status !== 0;
        if (isAnswered) pending.current = null;
        throw failure;
      }
    });
  }

  return { move, setError, target, isBusy, error, done };
}

/**
 * Progress of an advance, which stops whenever something becomes due along the way.
 * @param {{target: number | null}} props null if the clock is not advancing
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

/**
 * Describe how a clock runs.
 * @param {string} name
 */
export function describeClock(name) {
  if (name === "manual") return "paused until advanced";
  return `runs ${rateOf(name)} times as fast as real time`;
}

/**
 * Return the next NotBefore of maintenance that has not started.
 * @param {import("../types").Item[]} items
 * @param {number} now
 * @returns {string | null} null if there is none
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
 * Return the time that a step leads to.
 * @param {Step} step
 * @param {number} now
 * @returns {number} in ms
 */
export function targetOf(step, now) {
  return "to" in step ? ms(step.to) : now + step.seconds * 1000;
}
