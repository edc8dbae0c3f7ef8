// Page frame: navigation, connection state, session, and the current page.

import { AnnounceButton } from "./actions/announce_dialog.js";
import { FleetPage } from "./fleet/fleet.js";
import { OverviewPage } from "./overview/overview.js";
import { hashOf, PAGES, useRoute } from "./route.js";
import { StatusBar } from "./status_bar/status_bar.js";
import { StoryPanel } from "./story/story.js";
import { TimelinePage } from "./timeline/timeline.js";
import { html, useApp, useEffect, useModel, useRef } from "./view.js";

/** @type {Record<string, () => unknown>} */
const PAGE_COMPONENTS = { now: OverviewPage, timeline: TimelinePage, fleet: FleetPage };

/** @param {{signOut: () => void}} props */
export function Shell({ signOut }) {
  const { page, id } = useRoute();
  const main = useRef(/** @type {HTMLElement | null} */ (null));
  const first = useRef(true);
  useEffect(() => {
    document.title = `${titleOf(page)} · forewarn`;
    if (!first.current) main.current?.focus({ preventScroll: true });
    scrollTo(0, 0);
    first.current = false;
  }, [page]);
  const Page = PAGE_COMPONENTS[page];
  return html`
    <a class="skip" href="#main" onClick=${focusMain(main)}>Skip to content</a>
    <${Header} page=${page} signOut=${signOut} />
    <div class="columns">
      <main id="main" tabindex="-1" ref=${main}><${Page} /></main>
      ${id !== null && html`<${StoryPanel} key=${id} id=${id} />`}
    </div>
    <${StatusBar} />
    <${PaintMark} page=${page} />
  `;
}

/**
 * Sets a performance mark when a page has drawn its first data. The timeline needs more
 * data, and sets its own mark.
 * @param {{page: string}} props
 */
function PaintMark({ page }) {
  const model = useModel();
  const isReady = page === "now" || (page === "fleet" && model.fleet !== null);
  const isDrawn = isReady && model.isLoaded;
  useEffect(() => {
    if (isDrawn) performance.mark(`forewarn:${page}`);
  }, [page, isDrawn]);
  return null;
}

/** @param {string} page */
function titleOf(page) {
  return PAGES.find(({ name }) => name === page)?.title ?? "";
}

/** @param {{current: HTMLElement | null}} main */
function focusMain(main) {
  return (/** @type {Event} */ event) => {
    event.preventDefault(); // the hash selects the page
    main.current?.focus();
  };
}

/** @param {{page: string, signOut: () => void}} props */
function Header({ page, signOut }) {
  const { session } = useModel();
  return html`<header>
    <a class="brand" href=${hashOf("now")}>forewarn</a>
    <nav aria-label="Pages">
      ${PAGES.map(
        ({ name, title }) => html`<a
          key=${name}
          href=${hashOf(name)}
          aria-current=${name === page ? "page" : undefined}
          >${title}</a
        >`,
      )}
    </nav>
    <${LinkState} />
    <${AnnounceButton} />
    <div class="who">
      <span title=${`Signed in as ${session?.name} (role: ${session?.role})`}>
        ${session?.name} <small>${session?.role}</small>
      </span>
      <button class="quiet" onClick=${signOut}>Sign out</button>
    </div>
  </header>`;
}

/** Shows the state of the connection to the service. */
function LinkState() {
  const { live } = useApp();
  const { link } = useModel();
  const text = {
    live: "Live",
    connecting: "Connecting…",
    lost: link.why ?? "Connection lost. Reconnecting…",
  }[link.state];
  return html`<div class="link ${link.state}" role="status">
    <span class="dot" aria-hidden="true"></span><span>${text}</span>
    ${
      link.state === "lost" &&
      html`<button class="quiet" onClick=${() => live.start()}>Retry now</button>`
    }
  </div>`;
}
