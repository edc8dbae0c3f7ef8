// Parser of server-sent events (SSE).

/**
 * @typedef {object} StreamMessage
 * @property {string | null} id null if it has none
 * @property {string} event
 * @property {string} data
 */

/** Accepts text in chunks of any size and returns complete messages. */
export class Parser {
  constructor() {
    this.rest = "";
  }

  /**
   * @param {string} text
   * @returns {StreamMessage[]}
   */
  feed(text) {
    const blocks = (this.rest + text).split("\n\n");
    this.rest = blocks.pop() ?? "";
    return blocks.map(parse).filter((message) => message !== null);
  }
}

/**
 * @param {string} block
 * @returns {StreamMessage | null} null if it is a comment
 */
function parse(block) {
  /** @type {StreamMessage} */
  const message = { id: null, event: "message", data: "" };
  for (const line of block.split("\n")) {
    const [, name, value] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id") message.id = value ?? null;
    if (name === "event") message.event = value ?? "";
    if (name === "data")
      message.data = message.data ? `${message.data}\n${value}` : (value ?? "");
  }
  return message.id === null && !message.data ? null : message;
}

/**
 * Read messages until the stream ends; messages that arrive together are passed
 * together.
 * @param {ReadableStream<Uint8Array>} body
 * @param {() => void} onActivity called for every chunk, including keep-alive comments
 * @param {(messages: StreamMessage[]) => void} onMessages
 */
export async function readEvents(body, onActivity, onMessages) {
  /** @type {ReadableWritablePair<string, any>} */
  const decoder = new TextDecoderStream();
  const reader = body.pipeThrough(decoder).getReader();
  const parser = new Parser();
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    onActivity();
    const messages = parser.feed(value);
    if (messages.length) onMessages(messages);
  }
}
