// What can be asked for one maintenance, VM, host or group, as buttons.

import { titleOf } from "../components.js";
import { path } from "../service/api.js";
import { html, useApp } from "../view.js";
import { openAnnounce } from "./announce_dialog.js";
import { TYPES_OF_HOSTS } from "./announcement.js";
import { OF_HOSTS, OF_MAINTENANCES, OF_VMS, outcomeOf } from "./catalog.js";
import { Confirm, openApproval } from "./confirmation.js";
import { openDialog } from "./dialog.js";

/** @typedef {import("../types").Maintenance} Maintenance */
/** @typedef {import("../view.js").App} App */

/**
 * @typedef {object} Act
 * @property {string} name
 * @property {string} label
 * @property {boolean} [isDanger]
 * @property {() => void} open
 */

/**
 * What the service would accept now, of him who asks.
 * @param {{item: import("../types").Item}} props
 * @returns {unknown}
 */
export function MaintenanceActs({ item }) {
  const app = useApp();
  const { maintenance, can } = item;
  const title = titleOf(maintenance);
  const where = path`/v1/maintenances/${maintenance.id}`;
  const acts = ordered(app, OF_MAINTENANCES, title, where)
    .filter(({ name }) => can.includes(name))
    .map((act) =>
      act.name === "approve" ? { ...act, open: approving(app, maintenance) } : act,
    );
  return html`<${Buttons} of=${title} acts=${acts} />`;
}

/**
 * @param {{name: string, isSpot: boolean}} props
 * @returns {unknown}
 */
export function VmActs({ name, isSpot }) {
  const app = useApp();
  const acts = ordered(app, OF_VMS, name, path`/v1/vms/${name}`);
  const fitting = acts.filter((each) => isSpot || each.name !== "evict");
  const open = () => openAnnounce(app, { target: "vms", vms: [name] });
  const more = app.model.may("announce") ? [announcing(open)] : [];
  return html`<${Buttons} of=${name} acts=${[...more, ...fitting]} />`;
}

/**
 * @param {{name: string}} props
 * @returns {unknown}
 */
export function HostActs({ name }) {
  const app = useApp();
  const acts = ordered(app, OF_HOSTS, name, path`/v1/hosts/${name}`);
  const open = () =>
    openAnnounce(app, { target: "host", host: name, type: "Freeze" }, TYPES_OF_HOSTS);
  const maintain = { name: "maintain", label: "Maintain", open };
  const more = app.model.may("maintain") ? [maintain] : [];
  return html`<${Buttons} of=${name} acts=${[...more, ...acts]} />`;
}

/**
 * @param {{name: string}} props
 * @returns {unknown}
 */
export function GroupActs({ name }) {
  const app = useApp();
  const open = () => openAnnounce(app, { target: "group", group: name });
  const acts = app.model.may("announce") ? [announcing(open)] : [];
  return html`<${Buttons} of=${name} acts=${acts} />`;
}

/** @param {{of: string, acts: Act[]}} props */
function Buttons({ of, acts }) {
  if (!acts.length) return null;
  return html`<div class="acts" role="group" aria-label=${`What to do with ${of}`}>
    ${acts.map(
      ({ name, label, isDanger, open }) => html`<button
        key=${name}
        type="button"
        class=${isDanger ? "danger" : ""}
        aria-label=${`${label}: ${of}`}
        onClick=${open}
      >
        ${label}
      </button>`,
    )}
  </div>`;
}

/**
 * @param {() => void} open
 * @returns {Act}
 */
function announcing(open) {
  return { name: "announce", label: "Announce…", open };
}

/**
 * @param {App} app
 * @param {Maintenance} maintenance
 */
function approving(app, maintenance) {
  return () => openApproval(app, maintenance);
}

/**
 * Make a button of each order that the viewer may give.
 * @param {App} app
 * @param {Record<string, import("./catalog.js").Order>} orders
 * @param {string} of what it is done to, as it is called
 * @param {string} where it is sent to
 * @returns {Act[]}
 */
function ordered(app, orders, of, where) {
  return Object.entries(orders)
    .filter(([name]) => app.model.may(name))
    .map(([name, order]) => ({
      name,
      label: order.label,
      isDanger: order.isDanger,
      open: () => openOrder(app, name, order, of, where),
    }));
}

/**
 * @param {App} app
 * @param {string} name
 * @param {import("./catalog.js").Order} order
 * @param {string} of
 * @param {string} where
 */
function openOrder(app, name, order, of, where) {
  const { api, live, model, say } = app;

  /**
   * @param {object} body
   * @param {string} key
   */
  async function send(body, key) {
    const answer = await api.post(`${where}/${name}`, body, key);
    /** @type {Maintenance[]} */
    const made = answer.maintenances ?? [answer];
    say(outcomeOf(name, made, model.clock.now()));
    live.askAgain(made.map((each) => each.id));
  }

  openDialog(
    app,
    (close) => html`<${Confirm}
      title=${`${order.label}: ${of}`}
      name=${of}
      order=${order}
      close=${close}
      send=${send}
    />`,
  );
}
