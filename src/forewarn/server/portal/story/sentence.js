// Sentences from the service, rendered with commands as code, times in the viewer's
// time zone, and IDs as links.

import { Time } from "../components.js";
import { hashOf, routeOf } from "../route.js";
import { html, useMemo } from "../view.js";

/**
 * @param {{text: string, isPlain?: boolean}} props `isPlain`: without links, for
 *   use inside a link
 */
export function Sentence({ text, isPlain = false }) {
  const pieces = useMemo(() => splitSentence(text), [text]);
  return pieces.map((piece, index) => {
    if (piece.kind === "text") return piece.text;
    if (piece.kind === "time") return html`<${Time} key=${index} at=${piece.text} />`;
    if (piece.kind === "code") return html`<code key=${index}>${piece.text}</code>`;
    return html`<${Id} key=${index} id=${piece.text} isPlain=${isPlain} />`;
  });
}

/**
 * A shortened id.
 * @param {{id: string, isPlain: boolean}} props
 */
function Id({ id, isPlain }) {
  const code = html`<code title=${id}>${id.slice(0, 8)}…</code>`;
  return isPlain ? code : html`<${StoryLink} id=${id}>${code}<//>`;
}

/**
 * A link that opens a maintenance story next to the current page.
 * @param {{id: string, children?: unknown}} props
 */
export function StoryLink({ id, children }) {
  const { page } = routeOf(location.hash);
  return html`<a href=${hashOf(page, id)}>${children}</a>`;
}

/**
 * @typedef {object} Piece
 * @property {"text" | "code" | "time" | "id"} kind
 * @property {string} text times in RFC 3339
 */

const GUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
const SPECIAL = new RegExp(
  "`([^`]*)`" + `|(\\d{4}-\\d\\d-\\d\\d) (\\d\\d:\\d\\d:\\d\\d) UTC|(${GUID})`,
  "g",
);

/**
 * Split a sentence into text, commands, times and ids.
 * @param {string} sentence
 * @returns {Piece[]}
 */
export function splitSentence(sentence) {
  /** @type {Piece[]} */
  const pieces = [];
  let end = 0;
  for (const match of sentence.matchAll(SPECIAL)) {
    if (match.index > end) pieces.push(textPiece(sentence.slice(end, match.index)));
    pieces.push(specialPiece(match));
    end = match.index + match[0].length;
  }
  if (end < sentence.length) pieces.push(textPiece(sentence.slice(end)));
  return pieces;
}

/**
 * @param {RegExpMatchArray} match
 * @returns {Piece}
 */
function specialPiece([, code, day, time, id]) {
  if (code !== undefined) return { kind: "code", text: code };
  if (id !== undefined) return { kind: "id", text: id };
  return { kind: "time", text: `${day}T${time}Z` };
}

/**
 * @param {string} text
 * @returns {Piece}
 */
function textPiece(text) {
  return { kind: "text", text };
}
