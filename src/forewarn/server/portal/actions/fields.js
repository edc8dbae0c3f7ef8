// Form fields, each with a label, a hint and an error.

import { Sentence } from "../story/sentence.js";
import { utc } from "../times.js";
import { html } from "../view.js";
import { toUtc } from "./catalog.js";

/**
 * @typedef {object} FieldProps
 * @property {string} name
 * @property {string} label
 * @property {string} value
 * @property {(value: string) => void} set
 * @property {string} [hint]
 * @property {string} [error]
 */

/**
 * A single-line text field.
 * @param {FieldProps & {list?: string, placeholder?: string, inputmode?: string,
 *   onKeyDown?: (event: KeyboardEvent) => void}} props
 */
export function TextField({ name, label, value, set, hint, error, ...more }) {
  return html`<${Labeled} name=${name} label=${label} hint=${hint} error=${error}>
    <input
      id=${idOf(name)}
      name=${name}
      value=${value}
      autocomplete="off"
      autocapitalize="none"
      spellcheck=${false}
      onInput=${passValue(set)}
      ...${describe(name, hint, error)}
      ...${more}
    />
  <//>`;
}

/**
 * A date and time in the viewer's time zone, with UTC as the hint.
 * @param {FieldProps} props
 */
export function DateTimeField({ name, label, value, set, hint, error }) {
  const time = toUtc(value);
  const text = time === null ? hint : `That is ${utc(time)}.`;
  return html`<${Labeled} name=${name} label=${label} hint=${text} error=${error}>
    <input
      id=${idOf(name)}
      name=${name}
      type="datetime-local"
      step="1"
      value=${value}
      onInput=${passValue(set)}
      ...${describe(name, text, error)}
    />
  <//>`;
}

/**
 * Find date fields without a date or a time; the browser reports them as empty.
 * @param {HTMLFormElement} form
 * @returns {Record<string, string>} an error for each
 */
export function halfFilled(form) {
  const inputs = [...form.querySelectorAll("input")];
  const bad = inputs.filter((input) => input.validity.badInput);
  return Object.fromEntries(bad.map(({ name }) => [name, "Enter a date and time."]));
}

/**
 * A drop-down list.
 * @param {FieldProps & {choices: {value: string, label: string}[]}} props
 */
export function ChoiceField({ name, label, value, set, hint, error, choices }) {
  return html`<${Labeled} name=${name} label=${label} hint=${hint} error=${error}>
    <select
      id=${idOf(name)}
      name=${name}
      value=${value}
      onChange=${passValue(set)}
      ...${describe(name, hint, error)}
    >
      ${choices.map(
        (choice) => html`<option
          key=${choice.value}
          value=${choice.value}
          selected=${choice.value === value}
        >
          ${choice.label}
        </option>`,
      )}
    </select>
  <//>`;
}

/**
 * Radio buttons.
 * @param {{name: string, label: string, value: string, set: (value: string) => void,
 *   choices: {value: string, label: string}[]}} props
 */
export function RadioField({ name, label, value, set, choices }) {
  return html`<fieldset class="radios">
    <legend>${label}</legend>
    ${choices.map(
      (choice) => html`<label key=${choice.value}>
        <input
          type="radio"
          name=${name}
          value=${choice.value}
          checked=${choice.value === value}
          onChange=${passValue(set)}
        />
        ${choice.label}
      </label>`,
    )}
  </fieldset>`;
}

/**
 * A checkbox.
 * @param {{name: string, label: string, isOn: boolean, set: (isOn: boolean) => void,
 *   isDisabled?: boolean}} props
 */
export function CheckField({ name, label, isOn, set, isDisabled = false }) {
  return html`<label class="check">
    <input
      type="checkbox"
      name=${name}
      checked=${isOn}
      disabled=${isDisabled}
      onChange=${(/** @type {Event} */ event) =>
        set(/** @type {HTMLInputElement} */ (event.currentTarget).checked)}
    />
    ${label}
  </label>`;
}

/**
 * The service's error; announced to screen readers when it appears.
 * @param {{text: string}} props
 */
export function ErrorText({ text }) {
  return html`<p id="dialog-refusal" class="refusal" role="alert">
    <${Sentence} text=${text} isPlain />
  </p>`;
}

/**
 * @param {{name: string, label: string, hint?: string, error?: string,
 *   children?: unknown}} props
 */
function Labeled({ name, label, hint, error, children }) {
  return html`<div class="field">
    <label for=${idOf(name)}>${label}</label>
    ${children}
    ${error && html`<p id=${`${idOf(name)}-wrong`} class="wrong">${error}</p>`}
    ${hint && html`<p id=${`${idOf(name)}-hint`} class="hint">${hint}</p>`}
  </div>`;
}

/** @param {string} name */
function idOf(name) {
  return `field-${name}`;
}

/**
 * @param {string} name
 * @param {string} [hint]
 * @param {string} [error]
 */
function describe(name, hint, error) {
  const ids = [error && `${idOf(name)}-wrong`, hint && `${idOf(name)}-hint`];
  return {
    "aria-describedby": ids.filter(Boolean).join(" ") || undefined,
    "aria-invalid": error ? "true" : undefined,
  };
}

/** @param {(value: string) => void} set */
function passValue(set) {
  return (/** @type {Event} */ event) =>
    set(/** @type {HTMLInputElement} */ (event.currentTarget).value);
}
