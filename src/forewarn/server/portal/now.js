// The Now page: what is announced and under way.

import { Countdown, Standing, titleOf } from "./parts.js";
import { html, useModel } from "./view.js";

export function NowPage() {
  const model = useModel();
  return html`<h1>Now</h1>
    <ul>
      ${model.live().map(
        (item) => html`<li key=${item.maintenance.id}>
          <${Standing} item=${item} /> ${titleOf(item.maintenance)}
          ${" "}<${Countdown} to=${item.maintenance.not_before} />
        </li>`,
      )}
    </ul>`;
}
