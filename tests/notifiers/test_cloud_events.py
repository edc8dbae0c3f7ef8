"""CloudEvents: the format of notices, checked with the official library as well."""

import json
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.bindings.http import HTTPMessage, from_http_event
from tests.core.lifecycle.test_notified_events import OTHERS, OUTCOMES
from tests.core.support.builders import NOON
from tests.notifiers.samples import STARTED, a_notice

from forewarn.core.lifecycle import facts as f
from forewarn.notifiers.webhook import CONTENT_TYPE, cloud_event, cloud_event_bytes
from forewarn.ports import Notice

GOLDEN = Path(__file__).parent / "started.json"
FACTS = [*(fact for fact, _ in OUTCOMES), *OTHERS]


def an_event(notice: Notice) -> Any:
    return json.loads(cloud_event_bytes(cloud_event(notice, "/forewarn")))


def test_notice_of_a_start_matches_the_golden_file() -> None:
    assert an_event(a_notice()) == json.loads(GOLDEN.read_text())


def test_the_id_does_not_depend_on_the_attempt() -> None:
    first, second = a_notice(attempt=1), a_notice(attempt=7)
    assert an_event(first) == an_event(second)


@pytest.mark.parametrize("fact", FACTS, ids=lambda fact: type(fact).__name__)
def test_cloudevents_library_reads_every_event(fact: f.Fact) -> None:
    body = cloud_event_bytes(cloud_event(a_notice(fact, position=3), "/forewarn/a"))
    message = HTTPMessage(headers={"content-type": CONTENT_TYPE}, body=body)
    read = from_http_event(message)
    assert (read.get_id(), read.get_source()) == ("3", "/forewarn/a")
    assert read.get_type() == f"dev.forewarn.{type(fact).__name__}"
    assert read.get_specversion() == "1.0"
    assert read.get_time() == NOON
    assert read.get_datacontenttype() == "application/json"
    assert read.get_subject() == ("m-17" if hasattr(fact, "maintenance") else None)
    assert read.get_data() == json.loads(body)["data"]


def test_event_without_a_maintenance_has_no_subject() -> None:
    event = an_event(a_notice(f.Enabled(at=NOON, group="web", epoch="x")))
    assert "subject" not in event
    assert event["data"]["maintenance"] is None
    assert event["data"]["scheduled_events"] == []
    assert event["data"]["entry"]["group"] == "web"


def test_notice_names_the_vms_that_saw_each_event() -> None:
    events = an_event(a_notice())["data"]["maintenance"]["events"]
    assert [event["seen_by"] for event in events] == [[], ["db-1"]]


def test_closed_maintenance_is_completed_with_the_fact_closed() -> None:
    data = an_event(a_notice(f.Closed(at=STARTED, by="ops", maintenance="M0")))["data"]
    assert data["entry"]["fact"] == "Closed"
    assert {event["EventStatus"] for event in data["scheduled_events"]} == {"Completed"}


def test_text_is_sent_as_utf_8() -> None:
    fact = f.Canceled(at=NOON, by="ops", maintenance="M0", reason="Übung ✓")
    assert "Übung ✓".encode() in cloud_event_bytes(
        cloud_event(a_notice(fact), "/forewarn")
    )


def test_lone_surrogate_is_replaced() -> None:
    fact = f.Canceled(at=NOON, by="ops", maintenance="M0", reason="a\ud800b")
    assert an_event(a_notice(fact))["data"]["entry"]["reason"] == "a?b"
