"""What a test may demand of an event, and what it is told if it does not get it."""

import time
from collections.abc import Iterator
from threading import Event as Bell
from threading import Thread

import pytest
from tests.core.builders import NOON, a_maintenance, an_event

from forewarn import Client
from forewarn.core.maintenance import Phase
from forewarn.errors import NotFound, TooLate
from forewarn.protocol.types import EventStatus, EventType
from forewarn.testing import Rehearsal
from forewarn.testing.approvals import not_approved_by, too_early, what_approved
from forewarn.testing.watching import Mark


@pytest.fixture
def rehearsal() -> Iterator[Rehearsal]:
    with Rehearsal(vms=["a", "b"], seed=1) as rehearsal:
        yield rehearsal


def approve(rehearsal: Rehearsal, vm: str) -> None:
    """Do what a program does that speaks for `vm`."""
    with Client(rehearsal.endpoint_of(vm)) as client:
        client.approve(*client.document().events)


# --- what it is --------------------------------------------------------------


def test_an_event_tells_what_vms_are_told(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("b", description="a new kernel")
    with Client(rehearsal.endpoint) as client:
        (shown,) = client.document().events
    assert (event.id, event.type, event.status) == (shown.id, shown.type, shown.status)
    assert event.resources == shown.resources == ("b",)
    assert event.not_before == shown.not_before
    assert (event.description, event.source) == (shown.description, shown.source)
    assert (event.type, event.group) == (EventType.REBOOT, "vms")


def test_what_it_tells_is_true_after_each_step(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    assert (event.status, event.is_approved) == (EventStatus.SCHEDULED, False)
    event.approve(by="b")
    assert (event.status, event.approved_by) == (EventStatus.STARTED, "b")
    with pytest.raises(TooLate):
        event.cancel()
    event.complete()
    rehearsal.advance_to_end(event)
    assert (event.status, event.phase) == (None, Phase.COMPLETED)


def test_a_canceled_event_is_gone_for_vms_at_once(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    event.cancel("not today")
    with Client(rehearsal.endpoint) as client:
        assert client.document().events == ()
    assert (event.status, event.phase) == (None, Phase.CANCELED)


def test_one_that_has_just_started_is_over_before_others_start(
    rehearsal: Rehearsal,
) -> None:
    first, second = rehearsal.reboot("a"), rehearsal.reboot("b")
    first.approve(by="a")
    rehearsal.advance_to_end(first)
    assert (first.phase, second.phase) == (Phase.COMPLETED, Phase.SCHEDULED)


def test_its_repr_says_what_and_how_far_even_when_all_is_over() -> None:
    with Rehearsal(vms=["a"], seed=1) as rehearsal:
        event = rehearsal.freeze()
        short = event.id[:8]
        assert repr(event) == f"<Event Freeze {short} of a is Scheduled>"
        event.cancel()
        assert repr(event) == f"<Event Freeze {short} of a is Canceled>"
    assert repr(event) == f"<Event {event.id}>"


def test_it_explains_what_it_waits_for(rehearsal: Rehearsal) -> None:
    said = rehearsal.reboot("a").explain()
    assert "Reboot of a is SCHEDULED, and not due yet." in said
    assert "group vms has not approved" in said


# --- what is demanded --------------------------------------------------------


def test_an_approval_by_the_right_vm_satisfies_at_once(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    approve(rehearsal, "b")
    event.assert_approved()
    event.assert_approved(by="B")


def test_an_approval_is_waited_for_no_longer_than_it_takes(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("a")
    begun = time.monotonic()
    program = Thread(target=approve, args=(rehearsal, "a"))
    program.start()
    event.assert_approved(within="30s", by="a")
    program.join()
    assert time.monotonic() - begun < 15


def test_a_missing_approval_ends_with_what_happened(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    rehearsal.advance("14m")
    with Client(rehearsal.endpoint) as client:
        client.document()
    with pytest.raises(AssertionError) as caught:
        event.assert_approved(within="10ms", by="a")
    first, empty, *lines = str(caught.value).splitlines()
    short = event.id[:8]
    assert first == f"Reboot {short} of a was not approved by a within 10ms"
    assert empty == ""
    assert lines[1] == f"  +0:00   announced Reboot {short} of a, not before +15:00"
    assert lines[2].startswith("  +14:00  a asked, ")
    assert lines[3:] == [f"  +14:00  a saw Reboot {short}", "  +14:00  now"]


def test_nobody_waits_for_the_approval_of_a_vm_that_is_not_there(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("a")
    with pytest.raises(NotFound, match="there is no VM c"):
        event.assert_approved(within="1h", by="c")


def test_what_cannot_be_approved_any_more_is_not_waited_for(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("a")
    rehearsal.advance_to_start(event)
    begun = time.monotonic()
    with pytest.raises(AssertionError, match="was not approved: it started without"):
        event.assert_approved(within="1h")
    assert time.monotonic() - begun < 15


def test_an_event_must_not_be_approved_now_nor_soon(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    event.assert_not_approved(within="10ms")
    approve(rehearsal, "b")
    with pytest.raises(AssertionError, match=r"Reboot \w+ of a was approved by b"):
        event.assert_not_approved(within="1h")


def test_it_is_seen_by_whoever_was_shown_it(rehearsal: Rehearsal) -> None:
    event = rehearsal.reboot("a")
    with Client(rehearsal.endpoint_of("b")) as client:
        client.document()
    event.wait_seen()
    event.wait_seen(by="B")
    with pytest.raises(AssertionError, match="was not shown to a within 10ms"):
        event.wait_seen(by="a", within="10ms")
    with pytest.raises(NotFound, match="there is no VM c"):
        event.wait_seen(by="c", within="1h")


def test_a_mark_comes_before_the_approval_or_not(rehearsal: Rehearsal) -> None:
    early = rehearsal.reboot("a")
    approve(rehearsal, "a")
    rehearsal.mark("hook done")
    with pytest.raises(AssertionError, match=r"s before the mark 'hook done'"):
        early.assert_not_approved_before("hook done")
    rehearsal.advance_to_end(early)
    event = rehearsal.reboot("a")
    with pytest.raises(AssertionError, match="is older than its announcement"):
        event.assert_not_approved_before("hook done")
    rehearsal.mark("hook done")
    event.assert_not_approved_before("hook done")
    approve(rehearsal, "a")
    event.assert_not_approved_before("hook done")


def test_a_mark_and_a_poll_are_waited_for(rehearsal: Rehearsal) -> None:
    rehearsal.mark("ready")
    rehearsal.wait_marked("ready")
    with pytest.raises(AssertionError, match="there is no mark 'ready', 2 times"):
        rehearsal.wait_marked("ready", within="10ms", times=2)
    with pytest.raises(AssertionError, match="b did not ask within 10ms"):
        rehearsal.wait_polled(within="10ms", by="b")
    is_enough = Bell()

    def poll() -> None:
        with Client(rehearsal.endpoint_of("b")) as client:
            while not is_enough.is_set():
                client.document()

    program = Thread(target=poll)
    program.start()
    try:
        rehearsal.wait_polled(within="30s", by="b", times=2)
    finally:
        is_enough.set()
        program.join()


# --- complaints --------------------------------------------------------------


def test_complaints_name_who_approved_and_why_nobody_could() -> None:
    approved = a_maintenance(events=[an_event("e0", approved_at=NOON)])
    assert not_approved_by(approved, "e0", None, "1s") is None
    said = not_approved_by(approved, "e0", "vm0", "1s")
    assert said == "Reboot e0 of vm0 was approved by somebody, not by vm0"
    canceled = a_maintenance(phase=Phase.CANCELED)
    said = not_approved_by(canceled, "e0", None, "1s")
    assert said == "Reboot e0 of vm0 was not approved: it was canceled"
    assert what_approved(canceled, "e0") is None


def test_a_mark_that_is_missing_is_named_beside_those_that_are_there() -> None:
    marks = [Mark(name="draining", at=2.0)]
    said = too_early("Reboot e0", marks, "drained", 1.0, 3.0)
    assert said == (
        "Reboot e0 was approved, and there is no mark 'drained'; there are draining"
    )
    said = too_early("Reboot e0", [], "drained", 1.0, None)
    assert said == (
        "Reboot e0 is not approved, and there is no mark 'drained', nor any other"
    )
