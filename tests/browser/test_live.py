"""What is live: the page follows the service, whatever happens to either."""

from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Locator, Page, expect
from tests.browser.visitor import Visitor, signed_in
from tests.end_to_end.program import run, serving
from tests.server.support.service import RunningService

SECOND = 1_000  # ms

_WATCH = """(title) => {
  const look = () => {
    const found = [...document.querySelectorAll("article h3")];
    if (found.some((each) => each.textContent === title)) {
      window.appeared ??= performance.now();
    }
  };
  new MutationObserver(look).observe(document, { childList: true, subtree: true });
}"""


def positions(page: Page) -> Locator:
    """Find where in the journal the facts on the page stand."""
    return page.get_by_role("region", name="Last facts").locator("li small")


def link(page: Page) -> Locator:
    """Find how the page stands with the service."""
    return page.locator(".link")


def test_what_the_command_announces_appears_within_a_second(
    visitor: Visitor, shared: RunningService, tmp_path: Path
) -> None:
    page = visitor.opens(shared)
    page.evaluate(_WATCH, "Freeze of lone")
    words = ("announce", "freeze", "--vm", "lone")
    ended = run(tmp_path, *words, FOREWARN_URL=shared.control)
    assert ended.code == 0, ended.err
    since = page.evaluate("() => performance.now()")
    page.wait_for_function("() => window.appeared !== undefined")
    assert page.evaluate("() => window.appeared") - since < SECOND


def test_what_has_ended_is_asked_for_again_if_a_break_kept_it_away(
    visitor: Visitor, shared: RunningService
) -> None:
    made = shared.announce(vms=["web-0"])
    shared.ask("POST", f"/v1/maintenances/{made['id']}/cancel", {})
    visitor.forgive("ERR_FAILED")
    page = visitor.comes(shared)
    signed_in(page.context, shared.control, shared.token)
    for path in ("**/v1/stream?*", "**/v1/journal?fact=*"):
        page.route(path, lambda route: route.abort(), times=1)
    page.goto(f"{shared.control}/portal/#/now")
    ended = page.get_by_role("region", name="Just ended")
    expect(ended).to_contain_text("Reboot of web-0")


def test_a_restart_under_the_open_page_neither_loses_nor_doubles_a_fact(
    visitor: Visitor, tmp_path: Path
) -> None:
    visitor.forgive("ERR_", "network error")  # the service is away
    with serving(tmp_path) as program:
        page = visitor.opens(program.service)
        expect(link(page)).to_have_text("Live")
        program.service.announce(vms=["web-0"])
        program.kill()
        expect(link(page)).to_contain_text("Connection lost")
    port = urlsplit(program.service.control).port
    with serving(tmp_path, "--control", f"127.0.0.1:{port}") as again:
        again.service.announce(vms=["db-0"])
        expect(link(page)).to_have_text("Live")
        again.service.announce(vms=["batch_0"])
        journal = [str(each["position"]) for each in again.service.facts()]
        expect(positions(page)).to_have_text(journal[::-1])
        visitor.leaves()
