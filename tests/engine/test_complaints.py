"""A trouble that lasts is told once, not once a second."""

import logging

import pytest

from forewarn.engine.journal import Complaints
from forewarn.errors import Unavailable

FULL = Unavailable("the disk is full")
BROKEN = Unavailable("the disk is broken")


@pytest.fixture(autouse=True)
def everything(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)


def test_what_repeats_itself_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints("timers")
    for _ in range(100):
        complaints.about(FULL)
    assert caplog.messages == ["timers: the disk is full; trying again"]


def test_troubles_in_turns_are_told_once_each(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints("timers")
    for _ in range(100):
        complaints.about(FULL)
        complaints.about(BROKEN)
    assert len(caplog.messages) == 2


def test_the_end_of_a_trouble_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    complaints = Complaints("timers")
    complaints.end()
    complaints.about(FULL)
    complaints.end()
    complaints.end()
    assert caplog.messages[1:] == ["timers: works again"]


def test_a_trouble_that_comes_back_is_told_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    complaints = Complaints("timers")
    for _ in range(2):
        complaints.about(FULL)
        complaints.end()
    assert len(caplog.messages) == 4


def test_what_nobody_expected_is_told_with_its_place(
    caplog: pytest.LogCaptureFixture,
) -> None:
    Complaints("timers").about(LookupError("no counter"))
    assert "LookupError: no counter" in caplog.text
