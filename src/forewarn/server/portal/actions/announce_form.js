// Announcement form: target, type, start time, and details that VMs see.

import { html, useEffect, useModel, useState } from "../view.js";
import { addNames, suggest } from "./announcement.js";
import {
  CheckField,
  ChoiceField,
  DateTimeField,
  RadioField,
  TextField,
} from "./fields.js";

/** @typedef {import("./announcement.js").Form} Form */

/**
 * @typedef {object} PartProps
 * @property {Form} form
 * @property {Record<string, string>} errors
 * @property {(changed: Partial<Form>) => void} set
 */

const TARGETS = [
  { value: "vms", label: "VMs" },
  { value: "host", label: "A host" },
  { value: "group", label: "A group" },
];
const TIMINGS = [
  { value: "minimum", label: "After the minimum notice" },
  { value: "notice", label: "After a custom notice" },
  { value: "not_before", label: "Not before" },
];
const OPTIONAL_REASON = "Optional; recorded in the journal.";
const SOURCES = [
  { value: "", label: "Default for the type" },
  { value: "Platform", label: "Platform" },
  { value: "User", label: "User" },
];

/** @param {PartProps & {types: string[]}} props */
export function AnnounceForm({ form, types, errors, set }) {
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    if (errors.duration) setOpen(true); // its error must be visible
  }, [errors.duration]);
  const toggle = (/** @type {Event} */ event) =>
    setOpen(/** @type {HTMLDetailsElement} */ (event.currentTarget).open);
  const choices = types.map((value) => ({ value, label: value }));
  const fieldProps = (/** @type {keyof Form} */ name) => ({
    name,
    value: form[name],
    set: (/** @type {string} */ value) => set({ [name]: value }),
    error: errors[name],
  });
  return html`<div class="announce">
    <${Target} form=${form} errors=${errors} set=${set} />
    <div class="pair">
      <${ChoiceField} label="Type" choices=${choices} ...${fieldProps("type")} />
      <${TextField}
        label="Reason"
        hint=${form.isEmergency ? "Required for an emergency." : OPTIONAL_REASON}
        ...${fieldProps("reason")}
      />
    </div>
    <${Timing} form=${form} errors=${errors} set=${set} fieldProps=${fieldProps} />
    <details class="more" open=${isOpen} onToggle=${toggle}>
      <summary>Duration, description, source, emergency</summary>
      <div class="pair">
        <${TextField}
          label="Duration"
          hint="For example, 9s or 1h30m. The default depends on the type."
          ...${fieldProps("duration")}
        />
        <${ChoiceField} label="Source" choices=${SOURCES} ...${fieldProps("source")} />
      </div>
      <${TextField}
        label="Description"
        hint="Shown to VMs. Default: the standard description for the type."
        ...${fieldProps("description")}
      />
      <${Emergency} form=${form} set=${set} />
    </details>
  </div>`;
}

/** @param {PartProps} props */
function Target({ form, errors, set }) {
  const { fleet } = useModel();
  return html`<${RadioField}
      name="target"
      label="Target"
      value=${form.target}
      choices=${TARGETS}
      set=${(/** @type {Form["target"]} */ target) => set({ target })}
    />
    ${
      form.target === "vms"
        ? html`<${Vms} form=${form} errors=${errors} set=${set} />`
        : html`<${NameField}
          key=${form.target}
          name=${form.target}
          label=${form.target === "host" ? "Host" : "Group"}
          names=${
            form.target === "host"
              ? (fleet?.hosts ?? [])
              : (fleet?.groups.map(({ name }) => name) ?? [])
          }
          value=${form[form.target]}
          set=${(/** @type {string} */ value) => set({ [form.target]: value })}
          error=${errors.target}
        />`
    }`;
}

/**
 * A text field that suggests names from the fleet.
 * @param {import("./fields.js").FieldProps & {names: string[],
 *   onKeyDown?: (event: KeyboardEvent) => void}} props
 */
function NameField({ names, ...field }) {
  const list = `names-${field.name}`;
  return html`<${TextField} list=${list} ...${field} />
    <datalist id=${list}>
      ${suggest(names, field.value).map(
        (name) => html`<option key=${name} value=${name}></option>`,
      )}
    </datalist>`;
}

/** @param {PartProps} props */
function Vms({ form, errors, set }) {
  const { fleet } = useModel();
  const names = fleet?.vms.name ?? [];
  const add = (/** @type {string} */ typed) =>
    set({ vms: addNames(form.vms, typed), typed: "" });

  /** @param {string} typed */
  function type(typed) {
    const isWhole = /[\s,;]$/.test(typed) && typed.trim();
    if (isWhole || (names.includes(typed) && isChosen(typed, form.typed))) add(typed);
    else set({ typed });
  }

  /** @param {KeyboardEvent} event */
  function press(event) {
    if (event.key !== "Enter" || !form.typed.trim()) return;
    event.preventDefault(); // the next Enter requests the preview
    add(form.typed);
  }

  return html`${
    form.vms.length > 0 &&
    html`<ul class="chosen" aria-label="Selected VMs">
      ${form.vms.map(
        (vm) => html`<li key=${vm}>
          <span>${vm}</span>
          <button
            type="button"
            class="quiet"
            aria-label=${`Remove ${vm}`}
            onClick=${() => set({ vms: form.vms.filter((name) => name !== vm) })}
          >
            ×
          </button>
        </li>`,
      )}
    </ul>`
  }
    <${NameField}
      name="vms"
      label=${form.vms.length ? "Another VM" : "VMs"}
      hint="Type a name and press Enter. Separate multiple names with spaces."
      names=${names}
      value=${form.typed}
      set=${type}
      error=${errors.target}
      onKeyDown=${press}
    />`;
}

/**
 * Whether a name was selected from the suggestions. A name that is typed letter by
 * letter might be the start of a longer name.
 * @param {string} typed
 * @param {string} before
 */
function isChosen(typed, before) {
  return typed.length - before.length > 1;
}

/**
 * @param {PartProps & {fieldProps: (name: keyof Form) => object}} props
 */
function Timing({ form, set, fieldProps }) {
  return html`<${RadioField}
      name="timing"
      label="Start"
      value=${form.timing}
      choices=${TIMINGS}
      set=${(/** @type {Form["timing"]} */ timing) => set({ timing })}
    />
    ${
      form.timing === "notice" &&
      html`<${TextField}
      label="Notice"
      hint="For example, 20m, 2h30m or 1d."
      ...${fieldProps("notice")}
    />`
    }
    ${
      form.timing === "not_before" &&
      html`<${DateTimeField}
      label="Not before"
      hint="In your time zone."
      ...${fieldProps("not_before")}
    />`
    }`;
}

/** @param {{form: Form, set: (changed: Partial<Form>) => void}} props */
function Emergency({ form, set }) {
  return html`<${CheckField}
      name="emergency"
      label="Emergency: allow less than the minimum notice, or no notice"
      isOn=${form.isEmergency}
      set=${(/** @type {boolean} */ isEmergency) => set({ isEmergency })}
    />
    <${CheckField}
      name="ignore_blockers"
      label="Ignore blockers: start even if the maintenance is blocked"
      isOn=${form.isEmergency && form.ignoresBlockers}
      isDisabled=${!form.isEmergency}
      set=${(/** @type {boolean} */ ignoresBlockers) => set({ ignoresBlockers })}
    />`;
}
