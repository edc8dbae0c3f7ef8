// What a sentence of the service is made of: words, commands, times and ids.

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
