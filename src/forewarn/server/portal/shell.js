// What is around every page: where to go, how the service is, who is signed in.

import { AnnounceButton } from "./actions/announce_dialog.js";
import { FleetPage } from "./fleet/fleet.js";
import { NowPage } from "./overview/overview.js";
import { hashOf, PAGES, useRoute } from "./route.js";
import { Bars } from "./status_bar/status_bar.js";
import { StoryPanel } from "./story/story.js";
import { TimelinePage } from "./timeline/timeline.js";
import { html, useApp, useEffect, useModel, useRef } from "./view.js";

/** @type {Record<string, () => unknown>} */
const SHOWN = { now: NowPage, timeline: TimelinePage, fleet: FleetPage };

/** @param {{leave: () => void}} props */
export function Shell({ leave }) {
  const { page, id } = useRoute();
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useRef(true);
  useEffect(() => {
    document.title = `${titleOf(page)} · forewarn`;
    if (!first.current) main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
    first.current = false;
  }, [page]);
  const Page = SHOWN[page];
  return html`
    <a class="skip" href="#main" onClick=${jump(main)}>Skip to the page</a>
    <${Header} page=${page} leave=${leave} />
    <div class="columns">
      <main id="main" tabindex="-1" ref=${main}><${Page} /></main>
      ${id !== null && html`<${StoryPanel} key=${id} id=${id} />`}
    </div>
    <${Bars} />
    <${Mark} page=${page} />
  `;
}

/**
 * Marks, for those who measure, when a page has drawn its first data; the timeline, which
 * needs more than others, does so itself.
 * @param {{page: string}} props
 */
function Mark({ page }) {
  const model = useModel();
  const isKnown = page === "now" || (page === "fleet" && model.fleet !== null);
  const isDrawn = isKnown && model.isLoaded;
  useEffect(() => {
    if (isDrawn) performance.mark(`forewarn:${page}`);
  }, [page, isDrawn]);
  return null;
}

/** @param {string} page */
function titleOf(page) {
  return PAGES.find((each) => each.name === page)?.title ?? "";
}

/** @param {{current: HTMLElement | null}} main */
function jump(main) {
  return (/** @type {Event} */ event) => {
    event.preventDefault(); // the hash says which page is shown
    main.current?.focus();
  };
}

/** @param {{page: string, leave: () => void}} props */
function Header({ page, leave }) {
  const { session } = useModel();
  return html`<header>
    <a class="brand" href=${hashOf("now")}>forewarn</a>
    <nav aria-label="Pages">
      ${PAGES.map(
        (each) => html`<a
          key=${each.name}
          href=${hashOf(each.name)}
          aria-current=${each.name === page ? "page" : undefined}
          >${each.title}</a
        >`,
      )}
    </nav>
    <${LinkState} />
    <${AnnounceButton} />
    <div class="who">
      <span title=${`signed in as ${session?.name}, role ${session?.role}`}>
        ${session?.name} <small>${session?.role}</small>
      </span>
      <button class="quiet" onClick=${leave}>Sign out</button>
    </div>
  </header>`;
}

/** How the page stands with the service. */
function LinkState() {
  const { live } = useApp();
  const { link } = useModel();
  const said = {
    live: "Live",
    connecting: "Connecting…",
    lost: "Connection lost, trying again…",
  }[link.state];
  return html`<div class="link ${link.state}" role="status">
    <span class="dot" aria-hidden="true"></span><span>${said}</span>
    ${
      link.state === "lost" &&
      html`<button class="quiet" onClick=${() => live.start()}>Try now</button>`
    }
  </div>`;
}
