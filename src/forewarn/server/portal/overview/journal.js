// Latest journal entries; new ones are held back while the user reads the list.

import { count, Time } from "../components.js";
import { Sentence, StoryLink } from "../story/sentence.js";
import { html, useEffect, useModel, useRef, useState } from "../view.js";
import { factSentence, namesOf } from "./phrases.js";

/** @typedef {import("../types").Entry} Entry */

const FIRST_ROWS = 30;
const MORE_ROWS = 100;
const HIGHLIGHT = 3000; // ms for which a new entry is highlighted

export function Journal() {
  const model = useModel();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const { facts, pending, release, readerEvents, onScroll } = useHeld(model.facts);
  const [shown, setShown] = useState(FIRST_ROWS);
  const highlightAfter = useHighlight(model.facts[0]?.position ?? 0);
  const nameOf = namesOf(model.items, model.facts);

  function showNew() {
    if (list.current) list.current.scrollTop = 0;
    release();
  }

  // Rows are keyed by index: they stay in place, and their text changes.
  return html`<section class="card facts" aria-labelledby="facts" ...${readerEvents}>
    <div class="facts-head">
      <h2 id="facts">Journal</h2>
      ${
        pending > 0 &&
        html`<button class="quiet" onClick=${showNew}>
        Show ${count(pending, "new journal entry", "new journal entries")}
      </button>`
      }
    </div>
    <ol ref=${list} tabindex="0" aria-labelledby="facts" onScroll=${onScroll}>
      ${facts.slice(0, shown).map(
        (entry, index) =>
          html`<${Row}
              key=${index}
              entry=${entry}
              text=${factSentence(entry, nameOf)}
              isFresh=${entry.position > highlightAfter}
            />`,
      )}
      ${!facts.length && html`<li class="soft">No journal entries yet.</li>`}
      ${
        facts.length > shown &&
        html`<li class="more">
        <button class="quiet" onClick=${() => setShown(shown + MORE_ROWS)}>
          Show more
        </button>
      </li>`
      }
    </ol>
  </section>`;
}

/**
 * Freeze the list while the user reads it: while it has the pointer or the focus, or is
 * scrolled down.
 * @param {Entry[]} latest
 */
function useHeld(latest) {
  const [held, setHeld] = useState(/** @type {Entry[] | null} */ (null));
  const reasons = useRef(new Set());
  const current = useRef(latest);
  current.current = latest;
  const hold = (/** @type {string} */ reason, /** @type {boolean} */ isOn) => () => {
    if (isOn) reasons.current.add(reason);
    else reasons.current.delete(reason);
    setHeld((before) => (reasons.current.size ? (before ?? current.current) : null));
  };
  const facts = held ?? latest;
  const top = facts[0]?.position ?? 0;
  return {
    facts,
    pending: held ? latest.findIndex(({ position }) => position <= top) : 0,
    release: () => setHeld(reasons.current.size ? current.current : null),
    readerEvents: {
      onMouseEnter: hold("pointer", true),
      onMouseLeave: hold("pointer", false),
      onFocusIn: hold("focus", true),
      onFocusOut: hold("focus", false),
    },
    onScroll: (/** @type {Event} */ event) => {
      const { scrollTop } = /** @type {HTMLElement} */ (event.currentTarget);
      hold("scrolled", scrollTop > 4)();
    },
  };
}

/**
 * Return the position after which entries are highlighted as new.
 * @param {number} newest
 */
function useHighlight(newest) {
  const [position, setPosition] = useState(newest);
  useEffect(() => {
    const timer = setTimeout(() => setPosition(newest), HIGHLIGHT);
    return () => clearTimeout(timer);
  }, [newest]);
  return position;
}

/** @param {{entry: Entry, text: string, isFresh: boolean}} props */
function Row({ entry, text, isFresh }) {
  const sentence = html`<${Sentence} text=${text} isPlain />`;
  const id = storyOf(entry);
  const { at, position } = entry;
  return html`<li class=${isFresh ? "fresh" : ""}>
    <span key=${`at ${position}`} class="at soft"><${Time} at=${at} /></span>
    <span key=${`said ${position}`} class="said">
      ${id === null ? sentence : html`<${StoryLink} id=${id}>${sentence}<//>`}
    </span>
    <small key=${position} title="Position in the journal">${position}</small>
  </li>`;
}

/**
 * Return the id of the maintenance or event whose story the entry belongs to.
 * @param {Entry} entry
 * @returns {string | null} null if it belongs to none
 */
function storyOf(entry) {
  if (typeof entry.maintenance === "string") return entry.maintenance;
  const sights = /** @type {{event: string}[]} */ (entry.sights ?? []);
  return sights[0]?.event ?? null;
}
