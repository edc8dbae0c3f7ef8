"""Log notifier: one line for each fact."""

import logging

import pytest
from tests.core.lifecycle.test_notified_events import OTHERS, OUTCOMES
from tests.core.support.builders import NOON
from tests.notifiers.samples import a_notice

from forewarn.core.lifecycle import facts as f
from forewarn.notifiers.registry import LogNotifier
from forewarn.notifiers.webhook import cloud_event
from forewarn.ports import Notice

FACTS = [*(fact for fact, _ in OUTCOMES), *OTHERS]


def record_of(caplog: pytest.LogCaptureFixture, notice: Notice) -> logging.LogRecord:
    caplog.set_level(logging.INFO)
    LogNotifier(source="/forewarn").notify(notice)
    (record,) = caplog.records
    return record


def test_line_describes_the_fact_and_the_maintenance(
    caplog: pytest.LogCaptureFixture,
) -> None:
    record = record_of(caplog, a_notice())
    assert record.name == "forewarn.notifications"
    assert record.getMessage() == (
        "17 Started at 2026-01-05 12:15:00 UTC: m-17, Reboot of host-a (web-0,"
        " db-0, db-1): started after 15 min, without approval from web, db"
    )


def test_fact_about_a_group_names_it(caplog: pytest.LogCaptureFixture) -> None:
    notice = a_notice(f.Enabled(at=NOON, group="web", epoch=""))
    assert record_of(caplog, notice).getMessage() == (
        "17 Enabled at 2026-01-05 12:00:00 UTC: Scheduled Events enabled for group web"
    )


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_every_fact_is_one_line(caplog: pytest.LogCaptureFixture, fact: f.Fact) -> None:
    text = record_of(caplog, a_notice(fact)).getMessage()
    assert text.startswith(f"17 {type(fact).__name__} at ")
    assert "\n" not in text


def test_newline_in_a_reason_does_not_break_the_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    fact = f.Canceled(at=NOON, by="ops", maintenance="M0", reason="a\nb")
    assert "(a b)" in record_of(caplog, a_notice(fact)).getMessage()


def test_record_carries_the_cloud_event(caplog: pytest.LogCaptureFixture) -> None:
    record = record_of(caplog, a_notice())
    assert record.__dict__["event"] == cloud_event(a_notice(), "/forewarn")
