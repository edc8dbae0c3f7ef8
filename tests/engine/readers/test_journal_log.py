"""Journal log: what it logs, from where it starts, and what cannot stop it."""

import logging
from collections.abc import Callable
from typing import NoReturn

import pytest
from tests.engine.conftest import open_store, system
from tests.engine.support.system import System, a_reboot

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Step
from forewarn.engine.readers.journal_log import JOURNAL, JournalLog
from forewarn.errors import Unavailable

__all__ = ["open_store", "system"]

Messages = Callable[[], list[str]]


@pytest.fixture
def journal_log(system: System) -> JournalLog:
    system.announce(a_reboot(host="host-a"))  # before the log starts
    journal_log = JournalLog(system.store, Rules())
    journal_log.open()
    return journal_log


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture, journal_log: JournalLog) -> Messages:
    """Log new entries; return the messages since the last call."""
    caplog.set_level(logging.INFO, JOURNAL)

    def read() -> list[str]:
        caplog.clear()
        journal_log.catch_up()
        return caplog.messages

    return read


def test_entries_before_the_start_are_not_logged(messages: Messages) -> None:
    assert messages() == []


def test_each_new_entry_is_logged_once(system: System, messages: Messages) -> None:
    maintenance = system.announce(a_reboot("lone"))
    system.engine.cancel(maintenance.id, by="ops", reason="postponed")
    announced, canceled = messages()
    assert announced.startswith("m-2 Reboot of lone: announced by ops, not before")
    assert canceled == "m-2 Reboot of lone: canceled by ops (postponed)"
    assert messages() == []


def test_lines_show_the_state_at_the_time_of_each_entry(
    system: System, messages: Messages
) -> None:
    (maintenance,) = system.maintenances()
    for event in maintenance.events:
        system.engine.approve(event.id, by="ops")
    first, second, started = messages()
    assert first.startswith("m-1 Reboot of host-a (")
    assert "1 of 2 approved" in first
    assert "2 of 2 approved" in second
    assert "approved by all groups" in started


def test_at_level_warning_only_problems_are_logged(
    system: System, messages: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, JOURNAL)
    system.stuck("lone")
    (stuck,) = messages()
    assert "m-2 Reboot of lone: stuck: the driver failed on lone" in stuck


@pytest.fixture
def output(
    system: System, messages: Messages, caplog: pytest.LogCaptureFixture
) -> None:
    """Output of an operation that ended earlier, as the last entry."""
    maintenance = system.announce(a_reboot("lone"))
    system.engine.cancel(maintenance.id, by="ops")
    messages()
    caplog.set_level(logging.DEBUG, JOURNAL)
    printed = f.WorkPrinted(
        at=system.clock.now(), maintenance=maintenance.id, attempt=1, output="done"
    )
    with system.store.transaction() as transaction:
        slice_ = transaction.slice(None)
        transaction.save(slice_, Step(slice_, (printed,)), {})


@pytest.mark.usefixtures("output")
def test_output_of_an_ended_operation_names_it(messages: Messages) -> None:
    assert messages() == ["m-2 Reboot of lone: driver printed: done"]


@pytest.mark.usefixtures("output")
def test_an_entry_is_logged_even_if_the_store_fails_meanwhile(
    system: System, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> NoReturn:
        raise Unavailable("no connection")

    with monkeypatch.context() as patch:
        patch.setattr(system.store, "snapshot", fail)
        with pytest.raises(Unavailable):
            messages()
    assert messages() == ["m-2 Reboot of lone: driver printed: done"]


def test_an_entry_that_cannot_be_logged_does_not_hold_up_others(
    system: System, journal_log: JournalLog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, JOURNAL)
    maintenance = system.announce(a_reboot("lone"))
    system.engine.cancel(maintenance.id, by="ops")
    refusals = [ValueError("nobody can read this")]

    def refuse_first(record: logging.LogRecord) -> bool:
        if refusals:
            raise refusals.pop()
        return True

    logger = logging.getLogger(JOURNAL)
    logger.addFilter(refuse_first)
    try:
        with pytest.raises(ValueError, match="nobody"):
            journal_log.catch_up()
        journal_log.catch_up()
    finally:
        logger.removeFilter(refuse_first)
    assert caplog.messages == ["m-2 Reboot of lone: canceled by ops"]


def test_groups_are_logged_when_they_are_disabled(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, JOURNAL)
    disabled, seconds = ["old"], [0.0]
    journal_log = JournalLog(
        system.store, Rules(), lambda: disabled, monotonic=lambda: seconds[0]
    )
    journal_log.open()
    journal_log.catch_up()
    assert caplog.messages == []  # disabled before the start
    disabled += ["web", "db"]
    journal_log.catch_up()
    assert caplog.messages == []  # counted once a minute
    for _ in range(2):
        seconds[0] += 60.0
        journal_log.catch_up()
    assert caplog.messages == [
        "Scheduled Events disabled for groups db, web: no requests for 24 hours"
    ]


def test_a_stop_logs_the_last_entries(
    system: System, journal_log: JournalLog, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, JOURNAL)
    journal_log.start()
    system.announce(a_reboot("lone"))
    journal_log.stop()
    (announced,) = caplog.messages
    assert "announced by ops" in announced


def test_a_stop_is_clean_even_if_an_entry_cannot_be_logged(
    system: System, journal_log: JournalLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = logging.getLogger(JOURNAL)
    monkeypatch.setattr(logger, "filters", [lambda record: 1 / 0])
    monkeypatch.setattr(logger, "level", logging.INFO)
    system.announce(a_reboot("lone"))
    journal_log.stop()
