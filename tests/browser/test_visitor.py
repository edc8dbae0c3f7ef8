"""The simulated user that other browser tests rely on."""

import pytest
from tests.browser.portal_user import PortalUser, sign_in, wait_until_drawn
from tests.server.support.service import RunningService


def test_a_visitor_can_sign_in_with_a_token(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_sign_in(shared)
    sign_in(page, shared.token)
    wait_until_drawn(page, "now")


def test_the_next_visitor_starts_with_empty_storage(
    user: PortalUser, shared: RunningService
) -> None:
    page = user.open_page(shared)
    page.evaluate("() => localStorage.setItem('name', 'value')")
    user.close()
    page = user.open_sign_in(shared)
    assert page.evaluate("() => localStorage.length") == 0


@pytest.mark.full
def test_two_visitors_are_isolated(user: PortalUser, shared: RunningService) -> None:
    user.open_page(shared)
    user.open_sign_in(shared)
