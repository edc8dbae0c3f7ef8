"""What the metadata plane notices: who listens, who approves, who has seen what."""

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
    a_reception,
    an_event,
    shown,
)

from forewarn.core.fleet import VM
from forewarn.protocol.types import EventType
from forewarn.server.metadata.handler import ApproveFirst, EnableFirst

APPROVAL = b'{"StartRequests":[{"EventId":"e0"}]}'


# --- silent groups -----------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "body"), [("GET", b""), ("POST", APPROVAL), ("POST", b"nonsense")]
)
def test_the_first_request_of_a_silent_group_waits(method: str, body: bytes) -> None:
    answer = a_reception().send(method=method, body=body, address="10.0.0.3")
    assert answer == EnableFirst(group="quiet")


def test_a_request_with_a_tag_waits_too() -> None:
    reception = a_reception()
    answer = reception.send(EVENTS, "If-None-Match: *", address="10.0.0.3")
    assert answer == EnableFirst(group="quiet")


def test_a_group_that_listens_is_answered_at_once() -> None:
    reception = a_reception()
    reception.show(shown(replace(QUIET, last_request=NOON)))
    assert reception.ask(address="10.0.0.3").status == 200


@pytest.mark.parametrize(
    ("silence", "waits"), [(24 * HOUR - SECOND, False), (24 * HOUR, True)]
)
def test_after_24_hours_a_group_is_silent(silence: timedelta, waits: bool) -> None:
    reception = a_reception(shown(replace(QUIET, last_request=NOON)))
    reception.set_clock(NOON + silence)
    answer = reception.send(address="10.0.0.3")
    assert isinstance(answer, EnableFirst) is waits


def test_every_request_puts_the_silence_off() -> None:
    reception = a_reception(shown(replace(QUIET, last_request=NOON)))
    for hours in (20, 40, 60):
        reception.set_clock(NOON + hours * HOUR)
        assert reception.ask(address="10.0.0.3").status == 200


def test_a_group_that_always_listens_never_waits() -> None:
    reception = a_reception()
    reception.set_clock(NOON + 1000 * HOUR)
    assert reception.ask().status == 200


def test_a_vm_alone_does_not_fall_silent_while_its_group_asks() -> None:
    alone = replace(QUIET, isolated=True, last_request=NOON)
    vms = (VMS[2], VM(name="quiet-1", group="quiet", addresses=("10.0.0.4",)))
    reception = a_reception(
        shown(alone, vm="quiet-0"), shown(alone, vm="quiet-1"), vms=vms
    )
    reception.set_clock(NOON + 23 * HOUR)
    reception.ask(address="10.0.0.3")
    reception.set_clock(NOON + 25 * HOUR)
    assert reception.ask(address="10.0.0.4").status == 200


@pytest.mark.parametrize(
    "target",
    [
        "/metadata/instance?api-version=2021-02-01",
        "/metadata/versions",
        "/metadata/scheduledevents",
    ],
)
def test_other_requests_of_a_silent_group_are_answered_at_once(target: str) -> None:
    assert isinstance(a_reception().send(target, address="10.0.0.3"), bytes)


# --- approvals ---------------------------------------------------------------


def test_an_approval_is_deferred_with_ids_in_upper_case_and_each_once() -> None:
    body = b'{"StartRequests":[{"EventId":"a"},{"EventId":"B"},{"EventId":"A"}]}'
    answer = a_reception().send(method="POST", body=body)
    assert answer == ApproveFirst(vm="web-0", events=("A", "B"))


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
def test_other_headers_of_an_approval_do_not_matter(header: str) -> None:
    answer = a_reception().send(EVENTS, header, method="POST", body=APPROVAL)
    assert answer == ApproveFirst(vm="web-0", events=("E0",))


@pytest.mark.parametrize("incarnation", [b'"5"', b"5", b"null", b"-1"])
def test_the_incarnation_in_an_approval_is_ignored(incarnation: bytes) -> None:
    body = APPROVAL[:-1] + b',"DocumentIncarnation":' + incarnation + b"}"
    answer = a_reception().send(method="POST", body=body)
    assert answer == ApproveFirst(vm="web-0", events=("E0",))


def test_on_an_open_plane_one_approves_for_the_vm_one_names() -> None:
    answer = a_reception(is_open=True).send(
        f"/vm/WEB-1{EVENTS}", method="POST", body=APPROVAL
    )
    assert answer == ApproveFirst(vm="web-1", events=("E0",))


# --- notes -------------------------------------------------------------------


def test_a_request_is_noted_with_its_time() -> None:
    reception = a_reception()
    reception.ask()
    assert reception.asked() == {"web": NOON}


def test_requests_within_one_stamp_are_noted_once() -> None:
    reception = a_reception()
    reception.ask()
    reception.asked()
    reception.ask(address="10.0.0.2")
    assert reception.asked() == {}


def test_requests_are_noted_again_in_the_next_second() -> None:
    reception = a_reception()
    reception.ask()
    reception.asked()
    reception.set_clock(NOON + SECOND)
    reception.ask()
    assert reception.asked() == {"web": NOON + SECOND}


@pytest.mark.parametrize(
    ("method", "header", "body"),
    [
        ("GET", "If-None-Match: *", b""),
        ("POST", "A: b", APPROVAL),
        ("POST", "A: b", b"nonsense"),
    ],
)
def test_a_304_and_a_post_count_as_well(method: str, header: str, body: bytes) -> None:
    reception = a_reception()
    reception.send(EVENTS, header, method=method, body=body)
    assert reception.asked() == {"web": NOON}


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
def test_requests_for_anything_else_do_not_count(target: str) -> None:
    reception = a_reception()
    reception.ask(target)
    assert reception.asked() == {}


def test_a_request_without_the_header_does_not_count() -> None:
    reception = a_reception()
    reception.ask(marked=False)
    assert reception.asked() == {}


def test_who_was_shown_an_event_is_noted() -> None:
    reception = a_reception(shown(WEB, an_event("E0"), an_event("E1")))
    reception.ask()
    assert reception.seen() == [("web-0", "E0"), ("web-0", "E1")]


def test_a_sight_is_noted_once_per_document() -> None:
    reception = a_reception(shown(WEB, an_event()))
    for _ in range(3):
        reception.ask()
    assert reception.seen() == [("web-0", "E0")]


def test_each_vm_has_to_see_for_itself() -> None:
    reception = a_reception(shown(WEB, an_event()))
    reception.ask(address="10.0.0.1")
    reception.ask(address="10.0.0.2")
    assert reception.seen() == [("web-0", "E0"), ("web-1", "E0")]


def test_what_a_new_document_shows_is_noted() -> None:
    reception = a_reception(shown(WEB, an_event("E0")))
    reception.ask()
    reception.seen()
    reception.show(shown(WEB, an_event("E1"), incarnation=2))
    reception.ask()
    assert reception.seen() == [("web-0", "E1")]


def test_an_event_that_the_version_hides_was_not_seen() -> None:
    reception = a_reception(shown(WEB, an_event(type_=EventType.TERMINATE)))
    reception.ask("/metadata/scheduledevents?api-version=2017-03-01")
    assert reception.seen() == []


def test_an_event_that_an_older_version_hid_is_seen_in_a_newer_one() -> None:
    reception = a_reception(shown(WEB, an_event(type_=EventType.TERMINATE)))
    reception.ask("/metadata/scheduledevents?api-version=2017-03-01")
    reception.seen()
    reception.ask()
    assert reception.seen() == [("web-0", "E0")]


def test_an_approval_shows_nothing() -> None:
    reception = a_reception(shown(WEB, an_event()))
    reception.send(method="POST", body=APPROVAL)
    assert reception.seen() == []
