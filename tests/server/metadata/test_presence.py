"""How many VMs and groups have asked lately."""

from datetime import timedelta

from tests.server.support.connections import Line, Plane
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import (
    EVENTS,
    HOUR,
    NOON,
    QUIET,
    SECOND,
    WEB,
    Reception,
    a_reception,
)

from forewarn.core.fleet import VM
from forewarn.core.outages import Outage
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.handler import ApproveFirst
from forewarn.server.metadata.stats import Presence, presence

DAY = 24 * HOUR


def after(reception: Reception, time: timedelta) -> Presence:
    return presence(reception.handler.directory, NOON + time)


def test_who_has_not_asked_since_the_start_is_counted_apart() -> None:
    found = after(a_reception(), HOUR)
    assert (found.vms, found.never) == (3, 3)
    assert set(found.unseen.values()) == {0}


def test_who_has_asked_is_unseen_when_that_was_longer_ago() -> None:
    reception = a_reception()
    reception.ask()
    assert after(reception, 60 * SECOND).unseen[60] == 0
    later = after(reception, 61 * SECOND)
    assert later.never == 2
    assert later.unseen == {60: 1, 300: 0, 900: 0, 3600: 0, 86_400: 0}
    assert set(after(reception, 2 * DAY).unseen.values()) == {1}


def test_whoever_asks_again_is_seen_again() -> None:
    reception = a_reception()
    reception.ask()
    reception.set_clock(NOON + HOUR)
    reception.ask()
    assert after(reception, HOUR).unseen[60] == 0


def test_one_vm_does_not_stand_for_another_of_its_group() -> None:
    reception = a_reception()
    reception.ask(address="10.0.0.1")
    reception.set_clock(NOON + HOUR)
    reception.ask(address="10.0.0.2")
    found = after(reception, HOUR)
    assert (found.unseen[60], found.never) == (1, 1)


def test_a_second_vm_of_the_group_is_seen_in_the_same_second() -> None:
    plane = Plane()
    for address in ("10.0.0.1", "10.0.0.2"):
        Line(plane, address).send(a_request(EVENTS, "Metadata: true"))
    assert after(plane.reception, SECOND).never == 1


def test_an_approval_is_a_request_as_well() -> None:
    reception = a_reception()
    body = b'{"StartRequests":[{"EventId":"E0"}]}'
    assert isinstance(reception.send(method="POST", body=body), ApproveFirst)
    assert after(reception, SECOND).never == 2


def test_whoever_asks_for_instance_metadata_knows_nothing_of_events() -> None:
    reception = a_reception()
    reception.ask("/metadata/instance?api-version=2021-02-01")
    assert after(reception, SECOND).never == 3


def test_who_has_left_is_not_missed() -> None:
    reception = a_reception()
    reception.handler.directory.update(DocumentUpdate(position=1, removed=["web-0"]))
    assert after(reception, SECOND).vms == 2


def test_many_are_counted_in_several_turns() -> None:
    vms = tuple(VM(name=f"vm-{n}", group="web") for n in range(12_001))
    reception = a_reception(vms=vms, is_open=True)
    reception.ask(f"/vm/vm-12000{EVENTS}")
    found = after(reception, HOUR)
    assert (found.vms, found.never, found.unseen[60]) == (12_001, 12_000, 1)


def test_groups_that_always_listen_are_never_silent() -> None:
    found = after(a_reception(groups=(WEB, QUIET)), 9 * DAY)
    assert (found.enabled, found.disabled) == (1, 1)


def heard(reception: Reception) -> None:
    """Let the quiet group have asked at noon."""
    hearing = reception.handler.directory.group_state("quiet")
    assert hearing is not None
    hearing.last_request = NOON


def test_a_group_is_silent_a_day_after_its_last_request() -> None:
    reception = a_reception()
    heard(reception)
    assert after(reception, DAY - SECOND).disabled == 0
    assert after(reception, DAY).disabled == 1


def test_an_outage_is_no_silence() -> None:
    reception = a_reception()
    heard(reception)
    away = Outage(since=NOON + HOUR, until=NOON + 2 * HOUR)
    reception.handler.directory.update(DocumentUpdate(position=1, outages=[away]))
    assert after(reception, DAY).disabled == 0
    assert after(reception, DAY + HOUR).disabled == 1
