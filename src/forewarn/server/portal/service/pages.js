// Other pages of the same browser: they share the cookie, so that who signs in or out on
// one of them does so on all.

const NAME = "forewarn-session";

/**
 * Hear of the others, and be heard by them.
 * @param {() => void} changed called when somebody has signed in or out elsewhere
 * @returns {{tell: () => void}}
 */
export function otherPages(changed) {
  const channel = new BroadcastChannel(NAME);
  channel.addEventListener("message", changed);
  return { tell: () => channel.postMessage(null) };
}
