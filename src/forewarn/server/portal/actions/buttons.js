// Action buttons for maintenance, VMs, hosts and groups.

import { titleOf } from "../components.js";
import { path } from "../service/api.js";
import { html, useApp } from "../view.js";
import { openAnnounce } from "./announce_dialog.js";
import { HOST_TYPES } from "./announcement.js";
import {
  HOST_ACTIONS,
  MAINTENANCE_ACTIONS,
  outcomeOf,
  VM_ACTIONS,
} from "./catalog.js";
import { Confirm, openApproval } from "./confirmation.js";
import { openDialog } from "./dialog.js";

/** @typedef {import("../types").Maintenance} Maintenance */
/** @typedef {import("../view.js").App} App */
/** @typedef {import("./catalog.js").Action} Action */

/**
 * @typedef {object} ActionButton
 * @property {string} name
 * @property {string} label
 * @property {boolean} [isDanger]
 * @property {() => void} open
 */

/**
 * Buttons for the actions that the service would accept from the viewer now.
 * @param {{item: import("../types").Item}} props
 * @returns {unknown}
 */
export function MaintenanceActions({ item }) {
  const app = useApp();
  const { maintenance, can } = item;
  const title = titleOf(maintenance);
  const url = path`/v1/maintenances/${maintenance.id}`;
  const buttons = buttonsOf(app, MAINTENANCE_ACTIONS, title, url)
    .filter(({ name }) => can.includes(name))
    .map((button) =>
      button.name === "approve"
        ? { ...button, open: () => openApproval(app, maintenance) }
        : button,
    );
  return html`<${Buttons} of=${title} buttons=${buttons} />`;
}

/**
 * Buttons for the actions on a VM. A deallocated VM can only be started or deleted.
 * @param {{name: string, isSpot: boolean, isDeallocated?: boolean}} props
 * @returns {unknown}
 */
export function VmActions({ name, isSpot, isDeallocated = false }) {
  const app = useApp();
  const impossible = isDeallocated
    ? ["restart", "redeploy", "reimage", "evict"]
    : ["start", ...(isSpot ? [] : ["evict"])];
  const possible = buttonsOf(app, VM_ACTIONS, name, path`/v1/vms/${name}`).filter(
    (button) => !impossible.includes(button.name),
  );
  const open = () => openAnnounce(app, { target: "vms", vms: [name] });
  const isAnnounceable = app.model.may("announce") && !isDeallocated;
  const announce = isAnnounceable ? [announceButton(open)] : [];
  return html`<${Buttons} of=${name} buttons=${[...announce, ...possible]} />`;
}

/**
 * @param {{name: string}} props
 * @returns {unknown}
 */
export function HostActions({ name }) {
  const app = useApp();
  const buttons = buttonsOf(app, HOST_ACTIONS, name, path`/v1/hosts/${name}`);
  const open = () =>
    openAnnounce(app, { target: "host", host: name, type: "Freeze" }, HOST_TYPES);
  const announce = app.model.may("maintain") ? [announceButton(open)] : [];
  return html`<${Buttons} of=${name} buttons=${[...announce, ...buttons]} />`;
}

/**
 * @param {{name: string}} props
 * @returns {unknown}
 */
export function GroupActions({ name }) {
  const app = useApp();
  const open = () => openAnnounce(app, { target: "group", group: name });
  const buttons = app.model.may("announce") ? [announceButton(open)] : [];
  return html`<${Buttons} of=${name} buttons=${buttons} />`;
}

/** @param {{of: string, buttons: ActionButton[]}} props */
function Buttons({ of, buttons }) {
  if (!buttons.length) return null;
  return html`<div class="acts" role="group" aria-label=${`Actions for ${of}`}>
    ${buttons.map(
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
 * @returns {ActionButton}
 */
function announceButton(open) {
  return { name: "announce", label: "Announce…", open };
}

/**
 * Create a button for each action permitted by the viewer's role.
 * @param {App} app
 * @param {Record<string, Action>} actions
 * @param {string} of title or name of the target
 * @param {string} url of the target
 * @returns {ActionButton[]}
 */
function buttonsOf(app, actions, of, url) {
  return Object.entries(actions)
    .filter(([name]) => app.model.may(name))
    .map(([name, action]) => ({
      name,
      label: action.label,
      isDanger: action.isDanger,
      open: () => openAction(app, name, action, of, url),
    }));
}

/**
 * @param {App} app
 * @param {string} name
 * @param {Action} action
 * @param {string} of
 * @param {string} url
 */
function openAction(app, name, action, of, url) {
  const { api, live, model, notify } = app;

  /**
   * @param {object} body
   * @param {string} key
   */
  async function send(body, key) {
    const response = await api.post(`${url}/${name}`, body, key);
    /** @type {Maintenance[]} */
    const maintenances = response.maintenances ?? (response.phase ? [response] : []);
    notify(outcomeOf(name, maintenances, model.clock.now()));
    live.refresh(maintenances.map(({ id }) => id));
  }

  openDialog(
    app,
    (close) => html`<${Confirm}
      title=${`${action.label}: ${of}`}
      name=${of}
      action=${action}
      close=${close}
      send=${send}
    />`,
  );
}
