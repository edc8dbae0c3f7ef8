// The form of an announcement: on what, which type, when, and what VMs are told.

import { html, useEffect, useModel, useState } from "../view.js";
import { fitting, joined } from "./announcement.js";
import {
  CheckField,
  ChoiceField,
  MomentField,
  RadioField,
  TextField,
} from "./fields.js";

/** @typedef {import("./announcement.js").Form} Form */

/**
 * @typedef {object} PartProps
 * @property {Form} form
 * @property {Record<string, string>} wrong
 * @property {(changed: Partial<Form>) => void} set
 */

const TARGETS = [
  { value: "vms", label: "VMs" },
  { value: "host", label: "A host" },
  { value: "group", label: "A group" },
];
const TIMINGS = [
  { value: "minimum", label: "As soon as the type allows" },
  { value: "notice", label: "Notice" },
  { value: "not_before", label: "Not before" },
];
const SOURCES = [
  { value: "", label: "As usual for the type" },
  { value: "Platform", label: "Platform" },
  { value: "User", label: "User" },
];

/** @param {PartProps & {types: string[]}} props */
export function AnnounceForm({ form, types, wrong, set }) {
  const [isMore, setMore] = useState(false);
  useEffect(() => {
    if (wrong.duration) setMore(true); // what is wrong must be seen
  }, [wrong.duration]);
  const toggle = (/** @type {Event} */ event) =>
    setMore(/** @type {HTMLDetailsElement} */ (event.currentTarget).open);
  const choices = types.map((value) => ({ value, label: value }));
  const text = (/** @type {keyof Form} */ name) => ({
    name,
    value: form[name],
    set: (/** @type {string} */ value) => set({ [name]: value }),
    wrong: wrong[name],
  });
  return html`<div class="announce">
    <${Target} form=${form} wrong=${wrong} set=${set} />
    <div class="pair">
      <${ChoiceField} label="Type" choices=${choices} ...${text("type")} />
      <${TextField}
        label="Reason"
        hint=${form.isEmergency ? "An emergency needs one." : "For the journal."}
        ...${text("reason")}
      />
    </div>
    <${Timing} form=${form} wrong=${wrong} set=${set} text=${text} />
    <details class="more" open=${isMore} onToggle=${toggle}>
      <summary>Duration, description, source, emergency</summary>
      <div class="pair">
        <${TextField}
          label="Duration"
          hint="Such as 9s or 1h30m; as usual for the type if empty."
          ...${text("duration")}
        />
        <${ChoiceField} label="Source" choices=${SOURCES} ...${text("source")} />
      </div>
      <${TextField}
        label="Description"
        hint="What VMs are told; the usual sentence if empty."
        ...${text("description")}
      />
      <${Emergency} form=${form} set=${set} />
    </details>
  </div>`;
}

/** @param {PartProps} props */
function Target({ form, wrong, set }) {
  const { fleet } = useModel();
  return html`<${RadioField}
      name="target"
      label="On"
      value=${form.target}
      choices=${TARGETS}
      set=${(/** @type {Form["target"]} */ target) => set({ target })}
    />
    ${
      form.target === "vms"
        ? html`<${Vms} form=${form} wrong=${wrong} set=${set} />`
        : html`<${Named}
          key=${form.target}
          name=${form.target}
          label=${form.target === "host" ? "Host" : "Group"}
          names=${
            form.target === "host"
              ? (fleet?.hosts ?? [])
              : (fleet?.groups.map((each) => each.name) ?? [])
          }
          value=${form[form.target]}
          set=${(/** @type {string} */ value) => set({ [form.target]: value })}
          wrong=${wrong.target}
        />`
    }`;
}

/**
 * A name, with those of the fleet that fit what is typed.
 * @param {import("./fields.js").FieldProps & {names: string[],
 *   onKeyDown?: (event: KeyboardEvent) => void}} props
 */
function Named({ names, ...field }) {
  const list = `names-${field.name}`;
  return html`<${TextField} list=${list} ...${field} />
    <datalist id=${list}>
      ${fitting(names, field.value).map(
        (each) => html`<option key=${each} value=${each}></option>`,
      )}
    </datalist>`;
}

/** @param {PartProps} props */
function Vms({ form, wrong, set }) {
  const { fleet } = useModel();
  const names = fleet?.vms.name ?? [];
  const add = (/** @type {string} */ typed) =>
    set({ vms: joined(form.vms, typed), typed: "" });

  /** @param {string} typed */
  function type(typed) {
    const isWhole = /[\s,;]$/.test(typed) && typed.trim();
    if (isWhole || (names.includes(typed) && isChosen(typed, form.typed))) add(typed);
    else set({ typed });
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    if (event.key !== "Enter" || !form.typed.trim()) return;
    event.preventDefault(); // the next Enter asks for the preview
    add(form.typed);
  }

  return html`${
    form.vms.length > 0 &&
    html`<ul class="chosen" aria-label="VMs chosen">
      ${form.vms.map(
        (each) => html`<li key=${each}>
          <span>${each}</span>
          <button
            type="button"
            class="quiet"
            aria-label=${`Leave out ${each}`}
            onClick=${() => set({ vms: form.vms.filter((name) => name !== each) })}
          >
            ×
          </button>
        </li>`,
      )}
    </ul>`
  }
    <${Named}
      name="vms"
      label=${form.vms.length ? "Another VM" : "VMs"}
      hint="Names; Enter takes one in, several are separated by spaces."
      names=${names}
      value=${form.typed}
      set=${type}
      wrong=${wrong.target}
      onKeyDown=${press}
    />`;
}

/**
 * Whether a name came by a choice from the list, and not letter by letter: it may be
 * the beginning of another.
 * @param {string} typed
 * @param {string} before
 */
function isChosen(typed, before) {
  return typed.length - before.length > 1;
}

/**
 * @param {PartProps & {text: (name: keyof Form) => object}} props
 */
function Timing({ form, set, text }) {
  return html`<${RadioField}
      name="timing"
      label="When"
      value=${form.timing}
      choices=${TIMINGS}
      set=${(/** @type {Form["timing"]} */ timing) => set({ timing })}
    />
    ${
      form.timing === "notice" &&
      html`<${TextField}
      label="Notice"
      hint="Such as 20m, 2h30m or 1d."
      ...${text("notice")}
    />`
    }
    ${
      form.timing === "not_before" &&
      html`<${MomentField}
      label="Not before"
      hint="In your zone."
      ...${text("not_before")}
    />`
    }`;
}

/** @param {{form: Form, set: (changed: Partial<Form>) => void}} props */
function Emergency({ form, set }) {
  return html`<${CheckField}
      name="emergency"
      label="Emergency: less notice than the type promises, or none"
      isOn=${form.isEmergency}
      set=${(/** @type {boolean} */ isEmergency) => set({ isEmergency })}
    />
    <${CheckField}
      name="ignore_gates"
      label="Ignore gates: start even where a gate is shut"
      isOn=${form.isEmergency && form.ignoresGates}
      isDisabled=${!form.isEmergency}
      set=${(/** @type {boolean} */ ignoresGates) => set({ ignoresGates })}
    />`;
}
