// Sentences of the service: commands as such, times in the viewer's zone, ids as links.

import { Time } from "../parts.js";
import { piecesOf } from "./pieces.js";
import { hashOf, routeOf } from "../route.js";
import { html, useMemo } from "../view.js";

/**
 * @param {{text: string, isPlain?: boolean}} props plain: without links, to be put
 *   into one
 */
export function Sentence({ text, isPlain = false }) {
  const pieces = useMemo(() => piecesOf(text), [text]);
  return pieces.map((piece, index) => {
    if (piece.kind === "text") return piece.text;
    if (piece.kind === "time") return html`<${Time} key=${index} at=${piece.text} />`;
    if (piece.kind === "code") return html`<code key=${index}>${piece.text}</code>`;
    return html`<${Id} key=${index} id=${piece.text} isPlain=${isPlain} />`;
  });
}

/**
 * An id, of which the beginning is enough.
 * @param {{id: string, isPlain: boolean}} props
 */
function Id({ id, isPlain }) {
  const code = html`<code title=${id}>${id.slice(0, 8)}…</code>`;
  return isPlain ? code : html`<${StoryLink} id=${id}>${code}<//>`;
}

/**
 * A link to the story of a maintenance, beside the page that is shown.
 * @param {{id: string, children?: unknown}} props
 */
export function StoryLink({ id, children }) {
  const { page } = routeOf(location.hash);
  return html`<a href=${hashOf(page, id)}>${children}</a>`;
}
