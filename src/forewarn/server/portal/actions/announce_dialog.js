// Announce dialog: the announcement form, with a preview before it is confirmed.

import { few, Time, titleOf } from "../components.js";
import { newKey } from "../service/api.js";
import { Sentence } from "../story/sentence.js";
import { html, useApp, useEffect, useMemo, useRef, useState } from "../view.js";
import { AnnounceForm } from "./announce_form.js";
import { announcementOf, earliestOf, EMPTY, summaryOf, TYPES } from "./announcement.js";
import { outcomeOf } from "./catalog.js";
import { Dialog, openDialog, useRequest } from "./dialog.js";
import { ErrorText } from "./fields.js";

/** @typedef {import("./announcement.js").Form} Form */
/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} Preview
 * @property {string} of the previewed request body
 * @property {Maintenance[]} maintenances
 * @property {import("../types").Explanation[]} explained in the same order
 */

const PAGE_SIZE = 20; // maintenance operations shown at once
const MOST_VMS = 30; // names shown for each event

/** @returns {unknown} */
export function AnnounceButton() {
  const app = useApp();
  if (!app.model.may("announce")) return null;
  const open = () => openAnnounce(app, {});
  return html`<button type="button" class="primary" onClick=${open}>Announce…</button>`;
}

/**
 * Open the dialog with some fields filled in.
 * @param {import("../view.js").App} app
 * @param {Partial<Form>} initial
 * @param {string[]} [types] the event types to choose from
 */
export function openAnnounce(app, initial, types = TYPES) {
  app.live.needFleet();
  openDialog(
    app,
    (close) => html`<${Announce} initial=${initial} types=${types} close=${close} />`,
  );
}

/** @param {{initial: Partial<Form>, types: string[], close: () => void}} props */
function Announce({ initial, types, close }) {
  const { api, live, model, notify } = useApp();
  const key = useMemo(newKey, []);
  const [form, setForm] = useState(/** @type {Form} */ ({ ...EMPTY, ...initial }));
  const [preview, setPreview] = useState(/** @type {Preview | null} */ (null));
  const [isSubmitted, setSubmitted] = useState(false); // errors are hidden until then
  const { isBusy, error, run, setError } = useRequest();
  const { body, errors } = announcementOf(form);
  const json = JSON.stringify(body);
  const isValid = Object.keys(errors).length === 0;
  const isFresh = preview?.of === json && isValid;
  useEffect(() => setError(""), [json]);

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    setSubmitted(true);
    if (isValid) void run(isFresh && isAnnounceButton(event) ? announce : loadPreview);
  }

  async function loadPreview() {
    const response = await api.post("/v1/maintenances?dry_run=true", body);
    setPreview({ of: json, ...response });
  }

  async function announce() {
    const response = await api.post("/v1/maintenances", body, key);
    /** @type {Maintenance[]} */
    const maintenances = response.maintenances;
    notify(outcomeOf("announce", maintenances, model.clock.now()));
    live.refresh(maintenances.map(({ id }) => id));
    close();
  }

  return html`<${Dialog} title="Announce maintenance" close=${close} isWide>
    <form class="dialog-body" onSubmit=${submit} novalidate>
      <${AnnounceForm}
        form=${form}
        types=${types}
        errors=${isSubmitted ? errors : {}}
        set=${(/** @type {Partial<Form>} */ changed) =>
          setForm((all) => ({ ...all, ...changed }))}
      />
      <${AnnouncePreview} preview=${preview} isFresh=${isFresh} />
      <div class="dialog-acts">
        <${ErrorText} text=${error} />
        <button type="button" onClick=${close}>Cancel</button>
        <button
          class=${isFresh ? "" : "primary"}
          disabled=${isBusy}
          aria-describedby="dialog-refusal"
        >
          Preview
        </button>
        <button
          name="announce"
          class="primary"
          disabled=${isBusy || !isFresh}
          aria-describedby="preview-state"
        >
          Announce
        </button>
      </div>
    </form>
  <//>`;
}

/**
 * Whether the form was submitted by the Announce button, not by Enter in a field.
 * @param {SubmitEvent} event
 */
function isAnnounceButton({ submitter }) {
  return submitter instanceof HTMLButtonElement && submitter.name === "announce";
}

// --- preview -------------------------------------------------------------------

/** @param {{preview: Preview | null, isFresh: boolean}} props */
function AnnouncePreview({ preview, isFresh }) {
  const [shown, setShown] = useState(PAGE_SIZE);
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (preview) section.current?.scrollIntoView();
  }, [preview]);
  const maintenances = preview?.maintenances ?? [];
  const rest = maintenances.length - shown;
  return html`<section class="preview" aria-label="Preview" ref=${section}>
    <p id="preview-state" role="status" class=${isFresh ? "" : "soft"}>
      ${stateOf(preview, isFresh)}
    </p>
    ${
      preview &&
      html`<${Earliest} maintenances=${maintenances} />
      <ol class=${isFresh ? "plan" : "plan stale"}>
        ${maintenances.slice(0, shown).map(
          (maintenance, i) => html`<${Planned}
              key=${i}
              maintenance=${maintenance}
              sentences=${sentencesOf(preview.explained[i])}
            />`,
        )}
      </ol>`
    }
    ${
      rest > 0 &&
      html`<button type="button" onClick=${() => setShown(shown + PAGE_SIZE)}>
      Show more (${rest})
    </button>`
    }
  </section>`;
}

/**
 * @param {Preview | null} preview
 * @param {boolean} isFresh
 */
function stateOf(preview, isFresh) {
  if (preview === null) return "Click Preview to enable Announce.";
  if (!isFresh) return "The form has changed. Click Preview again to enable Announce.";
  return `To be announced: ${summaryOf(preview.maintenances)}.`;
}

/** @param {{maintenances: Maintenance[]}} props */
function Earliest({ maintenances }) {
  const earliest = earliestOf(maintenances);
  if (earliest === null) return null;
  return html`<p>
    Earliest NotBefore: <strong><${Time} at=${earliest} /></strong>,${" "}
    <${Time} at=${earliest} relative />
  </p>`;
}

/** @param {import("../types").Explanation | undefined} explanation */
function sentencesOf(explanation) {
  if (!explanation) return [];
  const blockers = explanation.waits.filter(({ kind }) => kind === "blocker");
  return [explanation.summary, ...blockers.map(({ text }) => text)];
}

/** @param {{maintenance: Maintenance, sentences: string[]}} props */
function Planned({ maintenance, sentences }) {
  return html`<li class="card">
    <h3>${titleOf(maintenance)}</h3>
    <p class="soft">Not before <${Time} at=${maintenance.not_before} /></p>
    <table>
      <thead>
        <tr>
          <th scope="col">Group</th>
          <th scope="col">VMs</th>
        </tr>
      </thead>
      <tbody>
        ${maintenance.events.map(
          ({ group, resources }, i) => html`<tr key=${i}>
            <th scope="row">${group}</th>
            <td>${few(resources, MOST_VMS)}</td>
          </tr>`,
        )}
      </tbody>
    </table>
    <ul>
      ${sentences.map(
        (sentence) => html`<li key=${sentence}><${Sentence} text=${sentence} /></li>`,
      )}
    </ul>
  </li>`;
}
