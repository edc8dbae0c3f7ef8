// Asks before something is done: what will happen, and what one may tell beside it.

import { freshKey } from "../service/api.js";
import { Dialog, useAsking } from "./dialog.js";
import { halfFilled, MomentField, Refusal, TextField } from "./fields.js";
import { bodyOf } from "./orders.js";
import { html, useMemo, useState } from "../view.js";

/**
 * @typedef {object} ConfirmProps
 * @property {string} title
 * @property {string} name of what it is done to
 * @property {import("./orders.js").Order} order
 * @property {() => void} close
 * @property {(body: object, key: string) => Promise<void>} send the same key is done
 *   once; throws what the service says if it refuses
 * @property {boolean} [isReady] whether it can be sent
 * @property {unknown} [children]
 */

/** @param {ConfirmProps} props */
export function Confirm({ title, name, order, close, send, isReady = true, children }) {
  const key = useMemo(freshKey, []);
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const [wrong, setWrong] = useState(/** @type {Record<string, string>} */ ({}));
  const { isAsking, refusal, ask } = useAsking();

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const written = bodyOf(values);
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const found = { ...written.wrong, ...halfFilled(form) };
    setWrong(found);
    if (Object.keys(found).length || !isReady) return;
    void ask(async () => {
      await send(written.body, key);
      close();
    });
  }

  return html`<${Dialog} title=${title} close=${close}>
    <form class="dialog-body" onSubmit=${submit} novalidate>
      <p>${order.says(name)}</p>
      ${children}
      ${order.fields.map((field) => {
        const Field = field === "fails_by" ? MomentField : TextField;
        return html`<${Field}
          key=${field}
          name=${field}
          ...${WORDS[field]}
          value=${values[field] ?? ""}
          set=${(/** @type {string} */ value) =>
            setValues((all) => ({ ...all, [field]: value }))}
          wrong=${wrong[field]}
        />`;
      })}
      <div class="dialog-acts">
        <${Refusal} said=${refusal} />
        <button type="button" onClick=${close}>Back</button>
        <button
          class=${order.isDanger ? "primary danger" : "primary"}
          disabled=${isAsking || !isReady}
          aria-describedby="dialog-refusal"
        >
          ${order.verb}
        </button>
      </div>
    </form>
  <//>`;
}

/** @type {Record<import("./orders.js").Field, {label: string, hint: string}>} */
const WORDS = {
  reason: { label: "Reason", hint: "For the journal; may be empty." },
  fails_by: { label: "Fails by", hint: "In your zone; in seven days if empty." },
  duration: {
    label: "Duration",
    hint: "Such as 30m or 2h30m; until it has recovered if empty.",
  },
};
