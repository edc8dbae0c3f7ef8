// Server-sent events, read from the bytes of an answer.

/**
 * @typedef {object} Sent
 * @property {string | null} id null: it has none
 * @property {string} event
 * @property {string} data
 */

/** Takes text in as it comes, and gives whole events out. */
export class Parser {
  constructor() {
    this.rest = "";
  }

  /**
   * @param {string} text
   * @returns {Sent[]}
   */
  feed(text) {
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(parsed).filter((each) => each !== null);
  }
}

/**
 * @param {string} block
 * @returns {Sent | null} null: a comment
 */
function parsed(block) {
  /** @type {Sent} */
  const sent = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id") sent.id = value ?? null;
    if (name === "event") sent.event = value ?? "";
    if (name === "data")
      sent.data = sent.data ? `${sent.data}\n${value}` : (value ?? "");
  }
  return sent.id === null && !sent.data ? null : sent;
}

/**
 * Read events until there are no more, several at a time as they come.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} heard called whenever anything comes, be it a sign of life
 * @param {(sent: Sent[]) => void} take
 */
export async function readEvents(body, heard, take) {
  /** @type {ReadableWritablePair<string, any>} */
  const decoder = new TextDecoderStream();
  const reader = body.pipeThrough(decoder).getReader();
  const parser = new Parser();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    const sent = parser.feed(value);
    if (sent.length) take(sent);
  }
}
