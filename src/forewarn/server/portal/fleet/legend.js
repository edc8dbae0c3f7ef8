// What the marks of the fleet's grid mean.

import { LETTERS } from "./marks.js";
import { STANDINGS } from "../parts.js";
import { html } from "../view.js";

const MARKS = [
  { mark: "", said: "VM" },
  { mark: "spot", said: "spot VM" },
  { mark: "silent", said: "silent: the group has not asked in 24 h" },
  { mark: "unheard", said: "unheard: this VM has not asked itself" },
];

/** @param {{isByHost: boolean}} props */
export function Legend({ isByHost }) {
  const standings = /** @type {(keyof typeof LETTERS)[]} */ (Object.keys(LETTERS));
  return html`<ul class="fleet-legend" aria-label="Legend">
    ${MARKS.map(
      ({ mark, said }) => html`<li key=${said}>
        <span class="vm ${mark}" aria-hidden="true"></span> ${said}
      </li>`,
    )}
    ${standings.map(
      (each) => html`<li key=${each}>
        <span class="vm ${each}" data-mark=${LETTERS[each]} aria-hidden="true"></span>
        ${STANDINGS[each].toLowerCase()}
      </li>`,
    )}
    ${
      isByHost &&
      html`<li>
      <span class="vm ud-0" aria-hidden="true">0</span>
      <span class="vm ud-1" aria-hidden="true">1</span>
      the number is the update domain
    </li>`
    }
    ${!isByHost && html`<li><b>UD</b> update domain</li>`}
  </ul>`;
}
