"""The simulated visitor, on which other browser tests rely."""

import pytest
from tests.browser.visitor import PortalUser, drawn, sign_in
from tests.server.support.service import RunningService


def test_a_visitor_can_sign_in_with_a_token(
    visitor: PortalUser, shared: RunningService
) -> None:
    page = visitor.arrives(shared)
    sign_in(page, shared.token)
    drawn(page, "now")


def test_the_next_visitor_starts_with_empty_storage(
    visitor: PortalUser, shared: RunningService
) -> None:
    page = visitor.opens(shared)
    page.evaluate("() => localStorage.setItem('name', 'somebody')")
    visitor.leaves()
    page = visitor.arrives(shared)
    assert page.evaluate("() => localStorage.length") == 0


@pytest.mark.full
def test_two_visitors_are_isolated(visitor: PortalUser, shared: RunningService) -> None:
    visitor.opens(shared)
    visitor.arrives(shared)
