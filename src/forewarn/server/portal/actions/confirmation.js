// Asks before something is done: what will happen, and what one may tell beside it.
// Approving the events of a maintenance, all or some of them.

import { few, titleOf } from "../components.js";
import { freshKey, path } from "../service/api.js";
import { html, useApp, useMemo, useState } from "../view.js";
import { approvalOf, bodyOf, OF_MAINTENANCES } from "./catalog.js";
import { Dialog, openDialog, useAsking } from "./dialog.js";
import { CheckField, halfFilled, MomentField, Refusal, TextField } from "./fields.js";

/** @typedef {import("../types").Maintenance} Maintenance */

/**
 * @typedef {object} ConfirmProps
 * @property {string} title
 * @property {string} name of what it is done to
 * @property {import("./catalog.js").Order} order
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

/** @type {Record<import("./catalog.js").Field, {label: string, hint: string}>} */
const WORDS = {
  reason: { label: "Reason", hint: "For the journal; may be empty." },
  fails_by: { label: "Fails by", hint: "In your zone; in seven days if empty." },
  duration: {
    label: "Duration",
    hint: "Such as 30m or 2h30m; until it has recovered if empty.",
  },
};

/**
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
  const { api, live, say } = useApp();
  const open = maintenance.events.filter((each) => each.status && !each.approved_at);
  const [left, setLeft] = useState(/** @type {string[]} */ ([])); // out of it
  const chosen = open.filter((each) => !left.includes(each.id));
  const title = titleOf(maintenance);

  /**
   * @param {object} body
   * @param {string} key
   */
  async function send(body, key) {
    for (const { id } of chosen) {
      await api.post(path`/v1/events/${id}/approve`, body, `${key}-${id}`);
    }
    say(approvalOf(title, [...new Set(chosen.map((each) => each.group))]));
    live.askAgain([maintenance.id]);
  }

  return html`<${Confirm}
    title=${`Approve: ${title}`}
    name=${title}
    order=${OF_MAINTENANCES.approve}
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
          isOn=${!left.includes(id)}
          set=${(/** @type {boolean} */ isOn) =>
            setLeft((all) => (isOn ? all.filter((each) => each !== id) : [...all, id]))}
        />`,
      )}
    </fieldset>
  <//>`;
}
