// Approving the events of a maintenance, all or some of them.

import { path } from "../service/api.js";
import { Confirm } from "./confirm.js";
import { openDialog } from "./dialog.js";
import { CheckField } from "./fields.js";
import { OF_MAINTENANCES } from "./orders.js";
import { approvalOf } from "./outcomes.js";
import { few, titleOf } from "../parts.js";
import { html, useApp, useState } from "../view.js";

/** @typedef {import("../types").Maintenance} Maintenance */

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
