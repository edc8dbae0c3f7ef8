// Announcing maintenance, with a preview before it is confirmed.
// What would be announced: which events, for whom, when, and what the gates will do.

import { few, Time, titleOf } from "../components.js";
import { freshKey } from "../service/api.js";
import { html, useApp, useEffect, useMemo, useRef, useState } from "../view.js";
import { AnnounceForm } from "./announce_form.js";
import { announcementOf, earliestOf, EMPTY, summaryOf, TYPES } from "./announcement.js";
import { outcomeOf } from "./catalog.js";
import { Dialog, openDialog, useAsking } from "./dialog.js";
import { Refusal } from "./fields.js";

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

const AT_ONCE = 20; // maintenances that are shown at once
const MOST_VMS = 30; // of an event

/**
 * @param {{preview: Preview | null, isFresh: boolean}} props
 */
export function AnnouncePreview({ preview, isFresh }) {
  const [shown, setShown] = useState(AT_ONCE);
  const section = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (preview) section.current?.scrollIntoView();
  }, [preview]);
  const made = preview?.maintenances ?? [];
  const rest = made.length - shown;
  return html`<section class="preview" aria-label="Preview" ref=${section}>
    <p id="preview-state" role="status" class=${isFresh ? "" : "soft"}>
      ${stateOf(preview, isFresh)}
    </p>
    ${
      preview &&
      html`<${Earliest} made=${made} />
      <ol class=${isFresh ? "plan" : "plan stale"}>
        ${made.slice(0, shown).map(
          (each, i) => html`<${Planned}
              key=${i}
              maintenance=${each}
              sentences=${preview.explained[i]?.sentences ?? []}
            />`,
        )}
      </ol>`
    }
    ${
      rest > 0 &&
      html`<button type="button" onClick=${() => setShown(shown + AT_ONCE)}>
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
  if (preview === null) return "Ask for the preview before you announce.";
  if (!isFresh) return "The form has changed since this preview. Ask for it again.";
  return `This would be announced: ${summaryOf(preview.maintenances)}.`;
}

/** @param {{made: Maintenance[]}} props */
function Earliest({ made }) {
  const earliest = earliestOf(made);
  if (earliest === null) return null;
  return html`<p>
    Earliest NotBefore: <strong><${Time} at=${earliest} /></strong>,${" "}
    <${Time} at=${earliest} relative />
  </p>`;
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
          <th scope="col">VMs of its event</th>
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
      ${sentences.map((each) => html`<li key=${each}>${each}</li>`)}
    </ul>
  </li>`;
}
