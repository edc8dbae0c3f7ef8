"""Assertions on events, and the messages when they fail."""

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event as Bell
from threading import Thread

import pytest
from tests.core.support.builders import NOON, a_maintenance, an_event

from forewarn import Client
from forewarn.core.lifecycle.model import Phase, Via
from forewarn.errors import NotFound, TooLate
from forewarn.protocol.types import EventStatus, EventType
from forewarn.testing import Rehearsal
from forewarn.testing.rehearsal.event import not_approved_by, too_early, what_approved
from forewarn.testing.rehearsal.observer import Mark


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    with Rehearsal(vms=["a", "b"], seed=1) as rehearsal:
        yield rehearsal


def approve(rehearsal: Rehearsal, vm: str) -> None:
    """Approve as a program in `vm` would."""
    with Client(rehearsal.endpoint_of(vm)) as client:
        client.approve(*client.document().events)


# --- attributes --------------------------------------------------------------


def test_event_has_the_attributes_that_vms_see(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("b", description="a new kernel")
    with Client(rehearsal.endpoint) as client:
        (shown,) = client.document().events
    assert (event.id, event.type, event.status) == (shown.id, shown.type, shown.status)
    assert event.resources == shown.resources == ("b",)
    assert event.not_before == shown.not_before
    assert (event.description, event.source) == (shown.description, shown.source)
    assert (event.type, event.group) == (EventType.REBOOT, "vms")


def test_attributes_are_current_after_each_step(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    assert (event.status, event.is_approved) == (EventStatus.SCHEDULED, False)
    event.approve(by="b")
    assert (event.status, event.approved_by) == (EventStatus.STARTED, "b")
    with pytest.raises(TooLate):
        event.cancel()
    event.complete()
    rehearsal.advance_to_end(event)
    assert (event.status, event.phase) == (None, Phase.COMPLETED)


def test_canceled_event_disappears_for_vms_immediately(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    event.cancel("not today")
    with Client(rehearsal.endpoint) as client:
        assert client.document().events == ()
    assert (event.status, event.phase) == (None, Phase.CANCELED)


def test_started_event_can_end_before_others_start(
    rehearsal: Rehearsal,
) -> None:
    first, second = rehearsal.reboot("a"), rehearsal.reboot("b")
    first.approve(by="a")
    rehearsal.advance_to_end(first)
    assert (first.phase, second.phase) == (Phase.COMPLETED, Phase.SCHEDULED)


def test_repr_shows_the_state_even_after_the_rehearsal() -> None:
    with Rehearsal(vms=["a"], seed=1) as rehearsal:
        event = rehearsal.freeze()
        short = event.id[:8]
        assert repr(event) == f"<Event Freeze {short} of a is Scheduled>"
        event.cancel()
        assert repr(event) == f"<Event Freeze {short} of a is Canceled>"
    assert repr(event) == f"<Event {event.id}>"


def test_explain_names_what_the_event_waits_for(rehearsal: Rehearsal) -> None:
    explanation = rehearsal.reboot("a").explain()
    assert "The reboot of a is scheduled but not due yet." in explanation
    assert "Waiting for approval from group vms." in explanation


# --- assertions --------------------------------------------------------------


def test_approval_by_the_right_vm_satisfies_immediately(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    approve(rehearsal, "b")
    event.assert_approved()
    event.assert_approved(by="B")


def test_wait_for_an_approval_ends_with_the_approval(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("a")
    begun = time.monotonic()
    program = Thread(target=approve, args=(rehearsal, "a"))
    program.start()
    event.assert_approved(within="60s", by="a")
    program.join()
    assert time.monotonic() - begun < 30


def test_missing_approval_fails_with_a_timeline(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    rehearsal.advance("14m")
    with Client(rehearsal.endpoint) as client:
        client.document()
    with pytest.raises(AssertionError) as caught:
        event.assert_approved(within="10ms", by="a")
    first, empty, *lines = str(caught.value).splitlines()
    short = event.id[:8]
    assert first == f"Reboot {short} of a was not approved by a within 0.01 s"
    assert empty == ""
    assert [re.sub(r" +[0-9.]+ s ", "", line) for line in lines[1:]] == [
        f"  +0:00 announced Reboot {short} of a, not before +15:00",
        "  +14:00 a polled, api-version 2020-07-01",
        f"  +14:00 a saw Reboot {short}",
        "  +14:00 now",
    ]


def test_unknown_vm_is_refused_without_waiting(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("a")
    with pytest.raises(NotFound, match="VM c not found"):
        event.assert_approved(within="1h", by="c")


def test_event_that_can_no_longer_be_approved_is_not_waited_for(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("a")
    rehearsal.advance_to_start(event)
    begun = time.monotonic()
    with pytest.raises(
        AssertionError, match="was not approved: it started without approval"
    ):
        event.assert_approved(within="1h")
    assert time.monotonic() - begun < 30


def test_assert_not_approved_checks_now_and_for_a_while(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    event.assert_not_approved(within="10ms")
    approve(rehearsal, "b")
    with pytest.raises(AssertionError, match=r"Reboot \w+ of a was approved by b"):
        event.assert_not_approved(within="1h")


def test_wait_seen_is_satisfied_by_any_vm_that_polled(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    with Client(rehearsal.endpoint_of("b")) as client:
        client.document()
    event.wait_seen()
    event.wait_seen(by="B")
    with pytest.raises(
        AssertionError, match=r"a did not receive Reboot \w+ of a within 0.01 s"
    ):
        event.wait_seen(by="a", within="10ms")
    with pytest.raises(NotFound, match="VM c not found"):
        event.wait_seen(by="c", within="1h")


def test_mark_must_come_before_the_approval(rehearsal: Rehearsal) -> None:
    early = rehearsal.reboot("a")
    approve(rehearsal, "a")
    rehearsal.mark("hook done")
    with pytest.raises(AssertionError, match=r"s before mark 'hook done'"):
        early.assert_not_approved_before("hook done")
    rehearsal.advance_to_end(early)
    event = rehearsal.reboot("a")
    with pytest.raises(AssertionError, match="was made before its announcement"):
        event.assert_not_approved_before("hook done")
    rehearsal.mark("hook done")
    event.assert_not_approved_before("hook done")
    approve(rehearsal, "a")
    event.assert_not_approved_before("hook done")


def test_wait_marked_and_wait_polled(rehearsal: Rehearsal) -> None:
    rehearsal.mark("ready")
    rehearsal.wait_marked("ready")
    with pytest.raises(
        AssertionError, match="mark 'ready' was made once, not twice, within"
    ):
        rehearsal.wait_marked("ready", within="10ms", times=2)
    with pytest.raises(AssertionError, match=r"b did not poll within 0.01 s"):
        rehearsal.wait_polled(within="10ms", by="b")
    is_enough = Bell()

    def poll() -> None:
        with Client(rehearsal.endpoint_of("b")) as client:
            while not is_enough.is_set():
                client.document()

    program = Thread(target=poll)
    program.start()
    try:
        rehearsal.wait_polled(within="60s", by="b", times=2)
    finally:
        is_enough.set()
        program.join()


# --- messages ----------------------------------------------------------------


def test_messages_name_who_approved_or_why_it_is_not_approved() -> None:
    event = replace(an_event("e0", approved_at=NOON), approved_by="vm1")
    approved = a_maintenance(events=[event])
    assert not_approved_by(approved, "e0", None) is None
    message = not_approved_by(approved, "e0", "vm0")
    assert message == "Reboot e0 of vm0 was approved by vm1, not by vm0"
    canceled = a_maintenance(phase=Phase.CANCELED)
    message = not_approved_by(canceled, "e0", None)
    assert message == "Reboot e0 of vm0 was not approved: it was canceled"
    assert what_approved(canceled, "e0") is None


def test_approval_by_group_settings_is_described_as_such() -> None:
    event = replace(an_event("e0", approved_at=NOON), approved_via=Via.POLICY)
    message = what_approved(a_maintenance(events=[event]), "e0")
    assert message == "Reboot e0 of vm0 was approved by the settings of group group0"


def test_first_of_several_equal_marks_counts() -> None:
    def message(*times: float) -> str | None:
        marks = [Mark(name="drained", at=at) for at in times]
        return too_early("Reboot e0", marks, "drained", 1.0, 5.0)

    assert message(2.0, 9.0) is None
    assert message(0.5, 7.0, 9.0) == (
        "Reboot e0 was approved 2.00 s before mark 'drained'"
    )


def test_missing_mark_is_named_along_with_existing_ones() -> None:
    marks = [Mark(name="draining", at=2.0)]
    message = too_early("Reboot e0", marks, "drained", 1.0, 3.0)
    assert message == (
        "Reboot e0 was approved, but mark 'drained' was not made"
        " (marks so far: draining)"
    )
    message = too_early("Reboot e0", [], "drained", 1.0, None)
    assert message == (
        "Reboot e0 is not approved, but mark 'drained' was not made"
        " (marks so far: none)"
    )
