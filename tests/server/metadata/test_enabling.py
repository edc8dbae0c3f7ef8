"""What the metadata plane records: enabled groups, approvals, seen events."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.server.support.handlers import (
    EVENTS,
    HOUR,
    NOON,
    QUIET,
    SECOND,
    VMS,
    WEB,
    a_harness,
    an_event,
    shown,
)

from forewarn.core.fleet import VM
from forewarn.protocol.types import EventType
from forewarn.server.metadata.handler import ApproveFirst, EnableFirst

APPROVAL = b'{"StartRequests":[{"EventId":"e0"}]}'


# --- disabled groups ---------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "body"), [("GET", b""), ("POST", APPROVAL), ("POST", b"nonsense")]
)
def test_first_request_of_a_disabled_group_enables_it(method: str, body: bytes) -> None:
    answer = a_harness().send(method=method, body=body, address="10.0.0.3")
    assert answer == EnableFirst(group="quiet")


def test_first_request_with_an_etag_also_enables_the_group() -> None:
    harness = a_harness()
    answer = harness.send(EVENTS, "If-None-Match: *", address="10.0.0.3")
    assert answer == EnableFirst(group="quiet")


def test_enabled_group_is_served_immediately() -> None:
    harness = a_harness()
    harness.show(shown(replace(QUIET, last_request=NOON)))
    assert harness.request(address="10.0.0.3").status == 200


@pytest.mark.parametrize(
    ("silence", "waits"), [(24 * HOUR - SECOND, False), (24 * HOUR, True)]
)
def test_group_is_disabled_after_24_hours(silence: timedelta, waits: bool) -> None:
    harness = a_harness(shown(replace(QUIET, last_request=NOON)))
    harness.set_clock(NOON + silence)
    answer = harness.send(address="10.0.0.3")
    assert isinstance(answer, EnableFirst) is waits


def test_every_request_postpones_the_disabling() -> None:
    harness = a_harness(shown(replace(QUIET, last_request=NOON)))
    for hours in (20, 40, 60):
        harness.set_clock(NOON + hours * HOUR)
        assert harness.request(address="10.0.0.3").status == 200


def test_always_enabled_group_never_waits() -> None:
    harness = a_harness()
    harness.set_clock(NOON + 1000 * HOUR)
    assert harness.request().status == 200


def test_isolated_vm_stays_enabled_by_requests_of_its_group() -> None:
    alone = replace(QUIET, isolated=True, last_request=NOON)
    vms = (VMS[2], VM(name="quiet-1", group="quiet", addresses=("10.0.0.4",)))
    harness = a_harness(shown(alone, vm="quiet-0"), shown(alone, vm="quiet-1"), vms=vms)
    harness.set_clock(NOON + 23 * HOUR)
    harness.request(address="10.0.0.3")
    harness.set_clock(NOON + 25 * HOUR)
    assert harness.request(address="10.0.0.4").status == 200


@pytest.mark.parametrize(
    "target",
    [
        "/metadata/instance?api-version=2021-02-01",
        "/metadata/versions",
        "/metadata/scheduledevents",
    ],
)
def test_other_requests_of_a_disabled_group_are_served_immediately(target: str) -> None:
    assert isinstance(a_harness().send(target, address="10.0.0.3"), bytes)


# --- approvals ---------------------------------------------------------------


@pytest.mark.parametrize(
    "header",
    [
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: text/plain; charset=utf-8",
        "Content-Type: application/json",
        "If-None-Match: *",
        "User-Agent: Pacemaker-ResourceAgent/1.0",
    ],
)
def test_approval_ignores_other_headers(header: str) -> None:
    answer = a_harness().send(EVENTS, header, method="POST", body=APPROVAL)
    assert answer == ApproveFirst(group="web", vm="web-0", events=("E0",))


def test_open_plane_approves_for_the_named_vm() -> None:
    answer = a_harness(is_open=True).send(
        f"/vm/WEB-1{EVENTS}", method="POST", body=APPROVAL
    )
    assert answer == ApproveFirst(group="web", vm="web-1", events=("E0",))


# --- recorded requests and seen events ---------------------------------------


def test_request_is_recorded_with_its_time() -> None:
    harness = a_harness()
    harness.request()
    assert harness.polled_groups() == {"web": NOON}


def test_requests_within_one_second_are_recorded_once() -> None:
    harness = a_harness()
    harness.request()
    harness.polled_groups()
    harness.request(address="10.0.0.2")
    assert harness.polled_groups() == {}


def test_requests_are_recorded_again_in_the_next_second() -> None:
    harness = a_harness()
    harness.request()
    harness.polled_groups()
    harness.set_clock(NOON + SECOND)
    harness.request()
    assert harness.polled_groups() == {"web": NOON + SECOND}


@pytest.mark.parametrize(
    ("method", "header", "body"),
    [
        ("GET", "If-None-Match: *", b""),
        ("POST", "A: b", APPROVAL),
        ("POST", "A: b", b"nonsense"),
    ],
)
def test_304_and_post_are_recorded(method: str, header: str, body: bytes) -> None:
    harness = a_harness()
    harness.send(EVENTS, header, method=method, body=body)
    assert harness.polled_groups() == {"web": NOON}


@pytest.mark.parametrize(
    "target",
    [
        "/metadata/instance?api-version=2021-02-01",
        "/metadata/versions",
        "/metadata/scheduledevents",
        "/metadata/scheduledevents?api-version=latest",
        f"{EVENTS}&a=1&a=2",
        "/",
    ],
)
def test_other_requests_are_not_recorded(target: str) -> None:
    harness = a_harness()
    harness.request(target)
    harness.request(marked=False)
    assert harness.polled_groups() == {}


def test_vm_that_read_an_event_is_recorded() -> None:
    harness = a_harness(shown(WEB, an_event("E0"), an_event("E1")))
    harness.request()
    assert harness.seen() == [("web-0", "E0"), ("web-0", "E1")]


def test_read_is_recorded_once_per_document() -> None:
    harness = a_harness(shown(WEB, an_event()))
    for _ in range(3):
        harness.request()
    assert harness.seen() == [("web-0", "E0")]


def test_reads_are_recorded_per_vm() -> None:
    harness = a_harness(shown(WEB, an_event()))
    harness.request(address="10.0.0.1")
    harness.request(address="10.0.0.2")
    assert harness.seen() == [("web-0", "E0"), ("web-1", "E0")]


def test_read_of_a_new_document_is_recorded() -> None:
    harness = a_harness(shown(WEB, an_event("E0")))
    harness.request()
    harness.seen()
    harness.show(shown(WEB, an_event("E1"), incarnation=2))
    harness.request()
    assert harness.seen() == [("web-0", "E1")]


def test_event_hidden_by_the_api_version_is_not_seen() -> None:
    harness = a_harness(shown(WEB, an_event(type_=EventType.TERMINATE)))
    harness.request("/metadata/scheduledevents?api-version=2017-03-01")
    assert harness.seen() == []


def test_event_hidden_by_an_older_version_is_seen_in_a_newer_one() -> None:
    harness = a_harness(shown(WEB, an_event(type_=EventType.TERMINATE)))
    harness.request("/metadata/scheduledevents?api-version=2017-03-01")
    harness.seen()
    harness.request()
    assert harness.seen() == [("web-0", "E0")]


def test_approval_does_not_count_as_seeing_the_event() -> None:
    harness = a_harness(shown(WEB, an_event()))
    harness.send(method="POST", body=APPROVAL)
    assert harness.seen() == []
