// Sign-in page.

import { Sentence } from "./story/sentence.js";
import { html, useApp, useState } from "./view.js";

/**
 * @param {{
 *   reason: string,
 *   enter: (session: import("./types").Session) => void,
 * }} props `reason`: why the session ended, or empty
 */
export function SignIn({ reason, enter }) {
  const { api } = useApp();
  const [error, setError] = useState(reason);
  const [isBusy, setBusy] = useState(false);

  /** @param {SubmitEvent} event */
  async function submit(event) {
    event.preventDefault();
    const form = /** @type {HTMLFormElement} */ (event.currentTarget);
    const token = String(new FormData(form).get("token")).trim();
    setBusy(true);
    try {
      enter(await api.signIn(token));
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
      setBusy(false);
    }
  }

  return html`<main class="signin">
    <form class="card" onSubmit=${submit}>
      <h1>forewarn</h1>
      <p>Sign in with a token to see your fleet and its maintenance.</p>
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
        aria-invalid=${error ? "true" : "false"}
      />
      <p id="refusal" class="refusal" role="alert">
        <${Sentence} text=${error} isPlain />
      </p>
      <button class="primary" disabled=${isBusy}>Sign in</button>
      <p id="hint" class="hint">
        To sign in without a token, run <code>forewarn portal --open</code> on the
        service's machine. To get a token, run <code>forewarn portal</code>. To create
        more tokens, run <code>forewarn token create</code>.
      </p>
    </form>
  </main>`;
}
