"""Tests of other files can rely on who visits the portal."""

import pytest
from tests.browser.visitor import Visitor, drawn, sign_in
from tests.server.support.service import RunningService


def test_whoever_types_his_token_is_signed_in(
    visitor: Visitor, shared: RunningService
) -> None:
    page = visitor.arrives(shared)
    sign_in(page, shared.token)
    drawn(page, "now")


def test_nothing_is_known_of_who_comes_next(
    visitor: Visitor, shared: RunningService
) -> None:
    page = visitor.opens(shared)
    page.evaluate("() => localStorage.setItem('name', 'somebody')")
    visitor.leaves()
    page = visitor.arrives(shared)
    assert page.evaluate("() => localStorage.length") == 0


@pytest.mark.full
def test_two_at_once_do_not_know_of_each_other(
    visitor: Visitor, shared: RunningService
) -> None:
    visitor.opens(shared)
    visitor.arrives(shared)
