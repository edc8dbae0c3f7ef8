"""Presence: how many VMs and groups polled recently."""

from datetime import timedelta

from tests.server.support.connections import ClientConnection, FakePlane
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import (
    EVENTS,
    HOUR,
    NOON,
    QUIET,
    SECOND,
    WEB,
    HandlerHarness,
    a_harness,
)

from forewarn.core.fleet import VM
from forewarn.core.outages import Outage
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.handler import ApproveFirst
from forewarn.server.metadata.stats import Presence, presence, silent_groups

DAY = 24 * HOUR


def after(harness: HandlerHarness, time: timedelta) -> Presence:
    return presence(harness.handler.directory, NOON + time)


def test_vms_that_never_polled_are_counted_separately() -> None:
    counts = after(a_harness(), HOUR)
    assert (counts.vms, counts.never) == (3, 3)
    assert set(counts.unseen.values()) == {0}


def test_vm_is_unseen_if_its_last_poll_is_too_old() -> None:
    harness = a_harness()
    harness.request()
    assert after(harness, 60 * SECOND).unseen[60] == 0
    later = after(harness, 61 * SECOND)
    assert later.never == 2
    assert later.unseen == {60: 1, 300: 0, 900: 0, 3600: 0, 86_400: 0}
    assert set(after(harness, 2 * DAY).unseen.values()) == {1}


def test_new_poll_makes_a_vm_seen_again() -> None:
    harness = a_harness()
    harness.request()
    harness.set_clock(NOON + HOUR)
    harness.request()
    assert after(harness, HOUR).unseen[60] == 0


def test_vms_of_a_group_are_counted_individually() -> None:
    harness = a_harness()
    harness.request(address="10.0.0.1")
    harness.set_clock(NOON + HOUR)
    harness.request(address="10.0.0.2")
    counts = after(harness, HOUR)
    assert (counts.unseen[60], counts.never) == (1, 1)


def test_second_vm_of_a_group_is_seen_in_the_same_second() -> None:
    plane = FakePlane()
    for address in ("10.0.0.1", "10.0.0.2"):
        ClientConnection(plane, address).send(a_request(EVENTS, "Metadata: true"))
    assert after(plane.reception, SECOND).never == 1


def test_approval_counts_as_a_poll() -> None:
    harness = a_harness()
    body = b'{"StartRequests":[{"EventId":"E0"}]}'
    assert isinstance(harness.send(method="POST", body=body), ApproveFirst)
    assert after(harness, SECOND).never == 2


def test_instance_metadata_does_not_count_as_a_poll() -> None:
    harness = a_harness()
    harness.request("/metadata/instance?api-version=2021-02-01")
    assert after(harness, SECOND).never == 3


def test_removed_vm_is_not_counted() -> None:
    harness = a_harness()
    harness.handler.directory.update(DocumentUpdate(position=1, removed=["web-0"]))
    assert after(harness, SECOND).vms == 2


def test_many_vms_are_counted() -> None:
    vms = tuple(VM(name=f"vm-{n}", group="web") for n in range(12_001))
    harness = a_harness(vms=vms, is_open=True)
    harness.request(f"/vm/vm-12000{EVENTS}")
    counts = after(harness, HOUR)
    assert (counts.vms, counts.never, counts.unseen[60]) == (12_001, 12_000, 1)


def test_always_enabled_groups_are_never_disabled() -> None:
    counts = after(a_harness(groups=(WEB, QUIET)), 9 * DAY)
    assert (counts.enabled, counts.disabled) == (1, 1)


def set_last_request(harness: HandlerHarness) -> None:
    """Set the last request of the quiet group to noon."""
    enabled_state = harness.handler.directory.group_state("quiet")
    assert enabled_state is not None
    enabled_state.last_request = NOON


def test_group_is_disabled_a_day_after_its_last_request() -> None:
    harness = a_harness()
    set_last_request(harness)
    assert after(harness, DAY - SECOND).disabled == 0
    assert after(harness, DAY).disabled == 1


def test_outage_does_not_count_toward_disabling() -> None:
    harness = a_harness()
    set_last_request(harness)
    outage = Outage(since=NOON + HOUR, until=NOON + 2 * HOUR)
    harness.handler.directory.update(DocumentUpdate(position=1, outages=[outage]))
    assert after(harness, DAY).disabled == 0
    assert after(harness, DAY + HOUR).disabled == 1


def test_groups_that_were_once_enabled_are_named_when_disabled() -> None:
    harness = a_harness(groups=(WEB, QUIET))
    directory = harness.handler.directory
    assert [*silent_groups(directory, NOON + DAY)] == []  # no request ever
    set_last_request(harness)
    assert [*silent_groups(directory, NOON + DAY - SECOND)] == []
    assert [*silent_groups(directory, NOON + DAY)] == ["quiet"]
