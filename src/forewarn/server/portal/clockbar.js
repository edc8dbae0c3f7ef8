// The service's clock, where it is not the system's, and moving it by hand.

import { freshKey, Refused } from "./api.js";
import { kindOf, nextNotBefore, stepOf } from "./steps.js";
import { useAsking } from "./dialog.js";
import { notADuration, secondsOf } from "./durations.js";
import { countdown, local, utc } from "./times.js";
import { html, useApp, useModel, useNow, useRef, useState } from "./view.js";

/** @typedef {import("./steps.js").Step} Step */

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
  const { model } = useApp();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false); // where there is little room
  const { move, refuse, target, isAsking, refusal, done } = useMoving();
  const next = nextNotBefore(model.live(), model.clock.now());

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const seconds = secondsOf(text);
    if (seconds === null) refuse(notADuration(text));
    else move({ seconds });
  }

  return html`<button
      type="button"
      class="unfold"
      aria-expanded=${isOpen ? "true" : "false"}
      onClick=${() => setOpen(!isOpen)}
    >
      Advance…
    </button>
    <form class=${isOpen ? "advance open" : "advance"} onSubmit=${submit} novalidate>
    ${[60, 900].map(
      (seconds) => html`<button
        key=${seconds}
        type="button"
        disabled=${isAsking}
        aria-label=${`Advance by ${seconds / 60} min`}
        onClick=${() => move({ seconds })}
      >
        +${seconds / 60} min
      </button>`,
    )}
    <button
      type="button"
      disabled=${isAsking || next === null}
      aria-label="Advance to the next NotBefore"
      onClick=${() => next && move({ to: next })}
    >
      To NotBefore
    </button>
    <input
      class="by"
      aria-label="Advance by"
      aria-describedby="advance-refusal"
      placeholder="2h30m"
      autocomplete="off"
      value=${text}
      onInput=${(/** @type {Event} */ event) =>
        setText(/** @type {HTMLInputElement} */ (event.currentTarget).value)}
    />
    <button class="primary" disabled=${isAsking}>Advance</button>
    <${Progress} target=${isAsking ? target : null} />
    <p id="advance-refusal" class="refusal" role="alert">${refusal}</p>
    <p class="hidden" role="status">${done}</p>
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
