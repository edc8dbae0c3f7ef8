// Announcing maintenance, with a preview before it is confirmed.

/** @returns {unknown} */
export function AnnounceButton() {
  return null;
}
