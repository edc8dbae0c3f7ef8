"""What is live: the page follows the service, whatever happens to either."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.visitor import Visitor, signed_in
from tests.end_to_end.program import a_kept_address, run, serving
from tests.server.support.service import RunningService


def positions(page: Page) -> Locator:
    """Find where in the journal the facts on the page stand."""
    return page.get_by_role("region", name="Last facts").locator("li small")


def link(page: Page) -> Locator:
    """Find how the page stands with the service."""
    return page.locator(".link")


def test_what_the_command_announces_appears_by_itself(
    visitor: Visitor, shared: RunningService, tmp_path: Path
) -> None:
    page = visitor.opens(shared)
    words = ("announce", "freeze", "--vm", "lone")
    ended = run(tmp_path, *words, FOREWARN_URL=shared.control)
    assert ended.code == 0, ended.err
    heading = page.get_by_role("heading", name="Freeze of lone", exact=True)
    expect(heading).to_be_visible()


@pytest.mark.full
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
    with a_kept_address() as where:
        with serving(tmp_path, "--control", where) as program:
            page = visitor.opens(program.service)
            expect(link(page)).to_have_text("Live")
            program.service.announce(vms=["web-0"])
            program.kill()
            expect(link(page)).to_contain_text("Connection lost")
        with serving(tmp_path, "--control", where) as again:
            again.service.announce(vms=["db-0"])
            expect(link(page)).to_have_text("Live")
            again.service.announce(vms=["batch_0"])
            journal = [str(each["position"]) for each in again.service.facts()]
            expect(positions(page)).to_have_text(journal[::-1])
            visitor.leaves()
