"""Live updates: the page follows the service across restarts and lost connections."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.browser.portal_user import PortalUser, start_session
from tests.end_to_end.program import a_reserved_address, run, serving
from tests.server.support.service import RunningService


def positions(page: Page) -> Locator:
    """Find the positions of the journal entries on the page."""
    return page.get_by_role("region", name="Journal").locator("li small")


def link(page: Page) -> Locator:
    """Find the status of the page's connection."""
    return page.locator(".link")


def test_an_announcement_from_the_command_line_appears_automatically(
    user: PortalUser, shared: RunningService, tmp_path: Path
) -> None:
    page = user.open_page(shared)
    words = ("announce", "freeze", "--vm", "lone")
    ended = run(tmp_path, *words, FOREWARN_URL=shared.control)
    assert ended.code == 0, ended.err
    heading = page.get_by_role("heading", name="Freeze of lone", exact=True)
    expect(heading).to_be_visible()


@pytest.mark.full
@pytest.mark.parametrize(
    "lost", [("**/v1/journal?fact=*",), ("**/v1/stream?*", "**/v1/journal?fact=*")]
)
def test_ended_maintenance_is_requested_again_after_a_lost_connection(
    user: PortalUser, shared: RunningService, lost: Sequence[str]
) -> None:
    maintenance = shared.announce(vms=["web-0"])
    shared.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel", {})
    user.allow_errors("ERR_FAILED")
    page = user.new_page(shared)
    start_session(page, shared.control, shared.token)
    for path in lost:
        page.route(path, lambda route: route.abort(), times=1)
    page.goto(f"{shared.control}/portal/#/now")
    ended = page.get_by_role("region", name="Recently ended")
    expect(ended).to_contain_text("Reboot of web-0")


def test_a_service_restart_neither_loses_nor_duplicates_an_entry(
    user: PortalUser, tmp_path: Path
) -> None:
    user.allow_errors("ERR_", "network error")  # the service is down
    with a_reserved_address() as where:
        with serving(tmp_path, "--control", where) as program:
            page = user.open_page(program.service)
            expect(link(page)).to_have_text("Live")
            program.service.announce(vms=["web-0"])
            program.kill()
            expect(link(page)).to_contain_text("Connection lost")
        with serving(tmp_path, "--control", where) as again:
            again.service.announce(vms=["db-0"])
            expect(link(page)).to_have_text("Live")
            again.service.announce(vms=["batch_0"])
            journal = [str(fact["position"]) for fact in again.service.facts()]
            expect(positions(page)).to_have_text(journal[::-1])
            user.close()
