// The last facts as they arrive; they wait while somebody reads.

import { count, Time } from "../components.js";
import { Sentence, StoryLink } from "../story/sentence.js";
import { html, useEffect, useModel, useRef, useState } from "../view.js";
import { namesOf, wordsOf } from "./phrases.js";

/** @typedef {import("../types").Entry} Entry */

const AT_FIRST = 30;
const MORE = 100;
const FRESH = 3000; // ms for which a fact that has come stands out

export function LastFacts() {
  const model = useModel();
  const list = useRef(/** @type {HTMLElement | null} */ (null));
  const { facts, fresh, release, reading, scrolled } = useHeld(model.facts);
  const [shown, setShown] = useState(AT_FIRST);
  const settled = useSettled(model.facts[0]?.position ?? 0);
  const nameOf = namesOf(model.items, model.facts);

  function showNew() {
    if (list.current) list.current.scrollTop = 0;
    release();
  }

  // Rows stay where they are and change what they say: nothing is moved by what comes.
  return html`<section class="card facts" aria-labelledby="facts" ...${reading}>
    <div class="facts-head">
      <h2 id="facts">Last facts</h2>
      ${
        fresh > 0 &&
        html`<button class="quiet" onClick=${showNew}>
        Show ${count(fresh, "new fact")}
      </button>`
      }
    </div>
    <ol ref=${list} tabindex="0" aria-labelledby="facts" onScroll=${scrolled}>
      ${facts.slice(0, shown).map(
        (entry, index) =>
          html`<${Row}
              key=${index}
              entry=${entry}
              words=${wordsOf(entry, nameOf)}
              isFresh=${entry.position > settled}
            />`,
      )}
      ${!facts.length && html`<li class="soft">Nothing has happened yet.</li>`}
      ${
        facts.length > shown &&
        html`<li class="more">
        <button class="quiet" onClick=${() => setShown(shown + MORE)}>Show more</button>
      </li>`
      }
    </ol>
  </section>`;
}

/**
 * Hold what is shown as long as somebody reads it: has the pointer or the focus on
 * it, or has scrolled down.
 * @param {Entry[]} all
 */
function useHeld(all) {
  const [held, setHeld] = useState(/** @type {Entry[] | null} */ (null));
  const reasons = useRef(new Set());
  const latest = useRef(all);
  latest.current = all;
  const mark = (/** @type {string} */ reason, /** @type {boolean} */ isSo) => () => {
    if (isSo) reasons.current.add(reason);
    else reasons.current.delete(reason);
    setHeld((was) => (reasons.current.size ? (was ?? latest.current) : null));
  };
  const facts = held ?? all;
  const top = facts[0]?.position ?? 0;
  return {
    facts,
    fresh: held ? all.findIndex((each) => each.position <= top) : 0,
    release: () => setHeld(reasons.current.size ? latest.current : null),
    reading: {
      onMouseEnter: mark("pointer", true),
      onMouseLeave: mark("pointer", false),
      onFocusIn: mark("focus", true),
      onFocusOut: mark("focus", false),
    },
    scrolled: (/** @type {Event} */ event) => {
      const { scrollTop } = /** @type {HTMLElement} */ (event.currentTarget);
      mark("scrolled", scrollTop > 4)();
    },
  };
}

/**
 * Find behind which position facts are new, until they have been shown for a while.
 * @param {number} newest
 */
function useSettled(newest) {
  const [settled, setSettled] = useState(newest);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(newest), FRESH);
    return () => clearTimeout(timer);
  }, [newest]);
  return settled;
}

/** @param {{entry: Entry, words: string, isFresh: boolean}} props */
function Row({ entry, words, isFresh }) {
  const sentence = html`<${Sentence} text=${words} isPlain />`;
  const id = storyOf(entry);
  const { at, position } = entry;
  return html`<li class=${isFresh ? "fresh" : ""}>
    <span key=${`at ${position}`} class="at soft"><${Time} at=${at} /></span>
    <span key=${`said ${position}`} class="said">
      ${id === null ? sentence : html`<${StoryLink} id=${id}>${sentence}<//>`}
    </span>
    <small key=${position} title="position in the journal">${position}</small>
  </li>`;
}

/**
 * Find the maintenance, or its event, whose story tells more.
 * @param {Entry} entry
 * @returns {string | null}
 */
function storyOf(entry) {
  if (typeof entry.maintenance === "string") return entry.maintenance;
  const sights = /** @type {{event: string}[]} */ (entry.sights ?? []);
  return sights[0]?.event ?? null;
}
