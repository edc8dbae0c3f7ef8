// Announcing maintenance, with a preview before it is confirmed.

import { announcementOf, EMPTY, TYPES } from "./announcement.js";
import { AnnounceForm } from "./announce_form.js";
import { AnnouncePreview } from "./announce_preview.js";
import { freshKey } from "../service/api.js";
import { Dialog, openDialog, useAsking } from "./dialog.js";
import { Refusal } from "./fields.js";
import { outcomeOf } from "./outcomes.js";
import { html, useApp, useEffect, useMemo, useState } from "../view.js";

/** @typedef {import("./announcement.js").Form} Form */
/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} Preview
 * @property {string} of what was sent for it
 * @property {Maintenance[]} maintenances
 * @property {import("../types").Explanation[]} explained of each
 */

/** @returns {unknown} */
export function AnnounceButton() {
  const app = useApp();
  if (!app.model.may("announce")) return null;
  const open = () => openAnnounce(app, {});
  return html`<button type="button" class="primary" onClick=${open}>Announce…</button>`;
}

/**
 * Open the form, with what is known already filled in.
 * @param {import("../view.js").App} app
 * @param {Partial<Form>} known
 * @param {string[]} [types] those that are possible
 */
export function openAnnounce(app, known, types = TYPES) {
  app.live.needFleet();
  openDialog(
    app,
    (close) => html`<${Announce} known=${known} types=${types} close=${close} />`,
  );
}

/** @param {{known: Partial<Form>, types: string[], close: () => void}} props */
function Announce({ known, types, close }) {
  const { api, live, model, say } = useApp();
  const key = useMemo(freshKey, []);
  const [form, setForm] = useState(/** @type {Form} */ ({ ...EMPTY, ...known }));
  const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
  const [isTried, setTried] = useState(false); // before that nothing is called wrong
  const { isAsking, refusal, ask, refuse } = useAsking();
  const { body, wrong } = announcementOf(form);
  const written = JSON.stringify(body);
  const isWrong = Object.keys(wrong).length > 0;
  const isFresh = preview?.of === written && !isWrong;
  useEffect(() => refuse(""), [written]);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    setTried(true);
    if (!isWrong) void ask(isFresh && isAnnouncing(event) ? announce : look);
  }

  async function look() {
    const found = await api.post("/v1/maintenances/preview", body);
    setPreview({ of: written, ...found });
  }

  async function announce() {
    const { maintenances } = await api.post("/v1/maintenances", body, key);
    say(outcomeOf("announce", maintenances, model.clock.now()));
    live.askAgain(maintenances.map((/** @type {Maintenance} */ each) => each.id));
    close();
  }

  return html`<${Dialog} title="Announce maintenance" close=${close} isWide>
    <form class="dialog-body" onSubmit=${submit} novalidate>
      <${AnnounceForm}
        form=${form}
        types=${types}
        wrong=${isTried ? wrong : {}}
        set=${(/** @type {Partial<Form>} */ changed) =>
          setForm((all) => ({ ...all, ...changed }))}
      />
      <${AnnouncePreview} preview=${preview} isFresh=${isFresh} />
      <div class="dialog-acts">
        <${Refusal} said=${refusal} />
        <button type="button" onClick=${close}>Back</button>
        <button
          class=${isFresh ? "" : "primary"}
          disabled=${isAsking}
          aria-describedby="dialog-refusal"
        >
          Preview
        </button>
        <button
          name="announce"
          class="primary"
          disabled=${isAsking || !isFresh}
          aria-describedby="preview-state"
        >
          Announce
        </button>
      </div>
    </form>
  <//>`;
}

/**
 * Whether the button was pressed, and not the Enter key in a field.
 * @param {SubmitEvent} event
 */
function isAnnouncing({ submitter }) {
  return submitter instanceof HTMLButtonElement && submitter.name === "announce";
}
