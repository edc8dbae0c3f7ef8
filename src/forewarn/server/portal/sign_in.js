// The page of those who are not signed in.

import { html, useApp, useState } from "./view.js";

/**
 * @param {{
 *   why: string,
 *   enter: (session: import("./types").Session) => void,
 * }} props `why` one has to sign in again, if that is so
 */
export function SignIn({ why, enter }) {
  const { api } = useApp();
  const [refusal, setRefusal] = useState(why);
  const [isAsking, setAsking] = useState(false);

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const token = String(new FormData(form).get("token")).trim();
    setAsking(true);
    try {
      enter(await api.signIn(token));
    } catch (error) {
      setRefusal(/** @type {Error} */ (error).message);
      setAsking(false);
    }
  }

  return html`<main class="signin">
    <form class="card" onSubmit=${submit}>
      <h1>forewarn</h1>
      <p>Sign in with a token to see the fleet and every promise made to it.</p>
      <label for="token">Token</label>
      <input
        id="token"
        name="token"
        type="password"
        required
        autofocus
        autocomplete="current-password"
        spellcheck="false"
        aria-describedby="refusal hint"
        aria-invalid=${refusal ? "true" : "false"}
      />
      <p id="refusal" class="refusal" role="alert">${refusal}</p>
      <button class="primary" disabled=${isAsking}>Sign in</button>
      <p id="hint" class="hint">
        <code>forewarn portal</code>, where the service runs, tells you one.
        ${" "}<code>forewarn token create</code> makes others.
      </p>
    </form>
  </main>`;
}
