// Sentences of the service: commands as such, times in the viewer's zone, ids as links.
// What a sentence of the service is made of: words, commands, times and ids.

import { Time } from "../components.js";
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

/**
 * @typedef {object} Piece
 * @property {"text" | "code" | "time" | "id"} kind
 * @property {string} text a time is in RFC 3339
 */

const GUID = "[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}";
const FOUND = new RegExp(
  "`([^`]*)`" + `|(\\d{4}-\\d\\d-\\d\\d) (\\d\\d:\\d\\d:\\d\\d) UTC|(${GUID})`,
  "g",
);

/**
 * Take a sentence apart.
 * @param {string} sentence
 * @returns {Piece[]}
 */
export function piecesOf(sentence) {
  /** @type {Piece[]} */
  const pieces = [];
  let end = 0;
  for (const found of sentence.matchAll(FOUND)) {
    if (found.index > end) pieces.push(text(sentence.slice(end, found.index)));
    pieces.push(piece(found));
    end = found.index + found[0].length;
  }
  if (end < sentence.length) pieces.push(text(sentence.slice(end)));
  return pieces;
}

/**
 * @param {RegExpMatchArray} found
 * @returns {Piece}
 */
function piece([, code, day, time, id]) {
  if (code !== undefined) return { kind: "code", text: code };
  if (id !== undefined) return { kind: "id", text: id };
  return { kind: "time", text: `${day}T${time}Z` };
}

/**
 * @param {string} words
 * @returns {Piece}
 */
function text(words) {
  return { kind: "text", text: words };
}
