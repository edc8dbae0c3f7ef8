// Fields of forms: each with its label, a hint, and what is wrong with it.

import { utc } from "../times.js";
import { html } from "../view.js";
import { utcOf } from "./catalog.js";

/**
 * @typedef {object} FieldProps
 * @property {string} name
 * @property {string} label
 * @property {string} value
 * @property {(value: string) => void} set
 * @property {string} [hint]
 * @property {string} [wrong]
 */

/**
 * A line of text.
 * @param {FieldProps & {list?: string, placeholder?: string, inputmode?: string,
 *   onKeyDown?: (event: KeyboardEvent) => void}} props
 */
export function TextField({ name, label, value, set, hint, wrong, ...more }) {
  return html`<${Labeled} name=${name} label=${label} hint=${hint} wrong=${wrong}>
    <input
      id=${idOf(name)}
      name=${name}
      value=${value}
      autocomplete="off"
      autocapitalize="none"
      spellcheck=${false}
      onInput=${reading(set)}
      ...${described(name, hint, wrong)}
      ...${more}
    />
  <//>`;
}

/**
 * A moment in the viewer's zone, with UTC beside it.
 * @param {FieldProps} props
 */
export function MomentField({ name, label, value, set, hint, wrong }) {
  const read = utcOf(value);
  const told = read === null ? hint : `that is ${utc(read)}`;
  return html`<${Labeled} name=${name} label=${label} hint=${told} wrong=${wrong}>
    <input
      id=${idOf(name)}
      name=${name}
      type="datetime-local"
      step="1"
      value=${value}
      onInput=${reading(set)}
      ...${described(name, told, wrong)}
    />
  <//>`;
}

/**
 * Find moments that lack their day or their time: they read as if they were empty.
 * @param {HTMLFormElement} form
 * @returns {Record<string, string>} a sentence for each
 */
export function halfFilled(form) {
  const bad = [...form.querySelectorAll("input")].filter((it) => it.validity.badInput);
  return Object.fromEntries(bad.map((it) => [it.name, "Give a day and a time."]));
}

/**
 * One of a few words.
 * @param {FieldProps & {choices: {value: string, label: string}[]}} props
 */
export function ChoiceField({ name, label, value, set, hint, wrong, choices }) {
  return html`<${Labeled} name=${name} label=${label} hint=${hint} wrong=${wrong}>
    <select
      id=${idOf(name)}
      name=${name}
      value=${value}
      onChange=${reading(set)}
      ...${described(name, hint, wrong)}
    >
      ${choices.map(
        (each) => html`<option
          key=${each.value}
          value=${each.value}
          selected=${each.value === value}
        >
          ${each.label}
        </option>`,
      )}
    </select>
  <//>`;
}

/**
 * Several words of which one is chosen, all of them in sight.
 * @param {{name: string, label: string, value: string, set: (value: string) => void,
 *   choices: {value: string, label: string}[]}} props
 */
export function RadioField({ name, label, value, set, choices }) {
  return html`<fieldset class="radios">
    <legend>${label}</legend>
    ${choices.map(
      (each) => html`<label key=${each.value}>
        <input
          type="radio"
          name=${name}
          value=${each.value}
          checked=${each.value === value}
          onChange=${reading(set)}
        />
        ${each.label}
      </label>`,
    )}
  </fieldset>`;
}

/**
 * Yes or no.
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
 * What the service says when it refuses; read aloud when it comes.
 * @param {{said: string}} props
 */
export function Refusal({ said }) {
  return html`<p id="dialog-refusal" class="refusal" role="alert">${said}</p>`;
}

/**
 * @param {{name: string, label: string, hint?: string, wrong?: string,
 *   children?: unknown}} props
 */
function Labeled({ name, label, hint, wrong, children }) {
  return html`<div class="field">
    <label for=${idOf(name)}>${label}</label>
    ${children}
    ${wrong && html`<p id=${`${idOf(name)}-wrong`} class="wrong">${wrong}</p>`}
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
 * @param {string} [wrong]
 */
function described(name, hint, wrong) {
  const ids = [wrong && `${idOf(name)}-wrong`, hint && `${idOf(name)}-hint`];
  return {
    "aria-describedby": ids.filter(Boolean).join(" ") || undefined,
    "aria-invalid": wrong ? "true" : undefined,
  };
}

/** @param {(value: string) => void} set */
function reading(set) {
  return (/** @type {Event} */ event) =>
    set(/** @type {HTMLInputElement} */ (event.currentTarget).value);
}
