// The faults in force, which nobody should take for the truth.

import { leftOf, whatOf, whomOf } from "./faults.js";
import { count } from "../parts.js";
import { html, useMemo, useNow } from "../view.js";

/** @typedef {import("../types").Fault} Fault */

/** @param {{faults: Fault[]}} props */
export function FaultBar({ faults }) {
  const said = faults.length
    ? `${count(faults.length, "fault")} in force: VMs are answered wrongly on purpose.`
    : "";
  return html`<div>
    <p class="hidden" role="status">${said}</p>
    ${
      faults.length > 0 &&
      html`<section class="faultbar" aria-label="Faults in force">
      <p><strong>${said}</strong></p>
      <ul>
        ${faults.map((each) => html`<${One} key=${each.id} fault=${each} />`)}
      </ul>
    </section>`
    }
  </div>`;
}

/** @param {{fault: Fault}} props */
function One({ fault }) {
  useNow();
  const told = useMemo(() => performance.now(), [fault]);
  return html`<li>
    <strong>${whomOf(fault)}</strong>: ${whatOf(fault)};
    ${" "}<span class="left">${leftOf(fault, performance.now() - told)}</span>;
    ${" "}set by ${fault.set_by}
  </li>`;
}
