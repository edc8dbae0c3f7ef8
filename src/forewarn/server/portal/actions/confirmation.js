// Confirmation dialogs, which describe an action before it is sent.

import { few, titleOf } from "../components.js";
import { newKey, path } from "../service/api.js";
import { html, useApp, useMemo, useState } from "../view.js";
import { approvalOutcome, bodyOf, MAINTENANCE_ACTIONS } from "./catalog.js";
import { Dialog, openDialog, useRequest } from "./dialog.js";
import {
  CheckField,
  DateTimeField,
  ErrorText,
  halfFilled,
  TextField,
} from "./fields.js";

/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} ConfirmProps
 * @property {string} title
 * @property {string} name of the target
 * @property {import("./catalog.js").Action} action
 * @property {() => void} close
 * @property {(body: object, key: string) => Promise<void>} send sends the request,
 *   and throws the service's error; requests with the same key are carried out once
 * @property {boolean} [isReady] whether the action can be sent
 * @property {unknown} [children]
 */

/** @type {Record<import("./catalog.js").Field, {label: string, hint: string}>} */
const FIELD_TEXTS = {
  reason: { label: "Reason", hint: "Optional; recorded in the journal." },
  fails_by: { label: "Fails by", hint: "In your time zone. Default: in seven days." },
  duration: {
    label: "Duration",
    hint: "For example, 30m or 2h30m. Default: until the host recovers.",
  },
};

/** @param {ConfirmProps} props */
export function Confirm({
  title,
  name,
  action,
  close,
  send,
  isReady = true,
  children,
}) {
  const key = useMemo(newKey, []);
  const [values, setValues] = useState(/** @type {Record<string, string>} */ ({}));
  const [errors, setErrors] = useState(/** @type {Record<string, string>} */ ({}));
  const { isBusy, error, run } = useRequest();

  /** @param {SubmitEvent} event */
  function submit(event) {
    event.preventDefault();
    const result = bodyOf(values);
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const invalid = { ...result.errors, ...halfFilled(form) };
    setErrors(invalid);
    if (Object.keys(invalid).length || !isReady) return;
    void run(async () => {
      await send(result.body, key);
      close();
    });
  }

  return html`<${Dialog} title=${title} close=${close}>
    <form class="dialog-body" onSubmit=${submit} novalidate>
      <p>${action.effect(name)}</p>
      ${children}
      ${action.fields.map((field) => {
        const Field = field === "fails_by" ? DateTimeField : TextField;
        return html`<${Field}
          key=${field}
          name=${field}
          ...${FIELD_TEXTS[field]}
          value=${values[field] ?? ""}
          set=${(/** @type {string} */ value) =>
            setValues((all) => ({ ...all, [field]: value }))}
          error=${errors[field]}
        />`;
      })}
      <div class="dialog-acts">
        <${ErrorText} text=${error} />
        <button type="button" onClick=${close}>
          ${action.dismiss ?? "Cancel"}
        </button>
        <button
          class=${action.isDanger ? "primary danger" : "primary"}
          disabled=${isBusy || !isReady}
          aria-describedby="dialog-refusal"
        >
          ${action.verb}
        </button>
      </div>
    </form>
  <//>`;
}

/**
 * Open the dialog that approves all or some of an operation's events.
 * @param {import("../view.js").App} app
 * @param {Maintenance} maintenance
 */
export function openApproval(app, maintenance) {
  openDialog(
    app,
    (close) => html`<${Approval} maintenance=${maintenance} close=${close} />`,
  );
}

/** @param {{maintenance: Maintenance, close: () => void}} props */
function Approval({ maintenance, close }) {
  const { api, live, notify } = useApp();
  const open = maintenance.events.filter((event) => event.status && !event.approved_at);
  const [excluded, setExcluded] = useState(/** @type {string[]} */ ([])); // event ids
  const chosen = open.filter(({ id }) => !excluded.includes(id));
  const title = titleOf(maintenance);

  /**
   * @param {object} body
   * @param {string} key
   */
  async function send(body, key) {
    for (const { id } of chosen) {
      await api.post(path`/v1/events/${id}/approve`, body, `${key}-${id}`);
    }
    notify(approvalOutcome(title, [...new Set(chosen.map(({ group }) => group))]));
    live.refresh([maintenance.id]);
  }

  return html`<${Confirm}
    title=${`Approve: ${title}`}
    name=${title}
    action=${MAINTENANCE_ACTIONS.approve}
    close=${close}
    send=${send}
    isReady=${chosen.length > 0}
  >
    <fieldset class="events">
      <legend>Events</legend>
      ${open.map(
        ({ id, group, resources }) => html`<${CheckField}
          key=${id}
          name=${id}
          label=${`${group}: ${few(resources, 5)}`}
          isOn=${!excluded.includes(id)}
          set=${(/** @type {boolean} */ isOn) =>
            setExcluded((ids) =>
              isOn ? ids.filter((other) => other !== id) : [...ids, id],
            )}
        />`,
      )}
    </fieldset>
  <//>`;
}
