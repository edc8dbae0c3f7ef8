"""What the metadata plane notices is written with the next transaction."""

from datetime import datetime

import pytest
from tests.engine.system import HOUR, MINUTE, NOON, System, a_reboot

from forewarn.core.announcing import Order
from forewarn.core.facts import Announced, Seen, Sight
from forewarn.core.maintenance import Phase
from forewarn.engine.notes import Notes
from forewarn.errors import NotFound
from forewarn.protocol.types import EventSource, EventType


def a_sight(event: str = "E0", vm: str = "web-0", at: datetime = NOON) -> Sight:
    return Sight(event=event, vm=vm, at=at)


def last_request(system: System, group: str) -> datetime | None:
    return system.fleet().groups[group].last_request


def test_notes_are_kept_in_memory_until_something_is_written(system: System) -> None:
    system.notes.ask("web", NOON)
    assert system.notes.are_there
    assert last_request(system, "web") is None


def test_notes_are_written_with_the_next_transaction(system: System) -> None:
    system.notes.ask("web", NOON)
    system.notes.see(a_sight())
    system.announce(a_reboot("db-0"))
    assert not system.notes.are_there
    assert last_request(system, "web") == NOON
    assert system.facts(Seen) == [Seen(at=NOON, sights=(a_sight(),))]


def test_notes_are_written_before_the_command_decides(system: System) -> None:
    system.clock.move_to(NOON + HOUR)
    system.notes.ask("lone", NOON + HOUR)
    made = system.announce(
        Order(type=EventType.REBOOT, vms=("lone",), source=EventSource.USER)
    )
    assert made.phase is Phase.SCHEDULED  # the group listens, by the note alone


def test_what_was_seen_is_journaled_before_what_the_command_did(
    system: System,
) -> None:
    system.notes.see(a_sight())
    system.announce(a_reboot("web-0"))
    kinds = [type(fact) for fact in system.journal()]
    assert kinds.index(Seen) < kinds.index(Announced)


def test_notes_are_given_back_when_the_transaction_fails(system: System) -> None:
    system.notes.ask("web", NOON)
    system.notes.see(a_sight())
    with pytest.raises(NotFound):
        system.announce(a_reboot("web-9"))
    assert system.notes.are_there
    assert last_request(system, "web") is None
    assert not system.facts(Seen)
    system.engine.beat()
    assert last_request(system, "web") == NOON
    assert system.facts(Seen) == [Seen(at=NOON, sights=(a_sight(),))]


def test_a_note_that_was_given_back_does_not_hide_a_newer_one(system: System) -> None:
    system.notes.ask("web", NOON)
    taken = system.notes.take()
    system.notes.ask("web", NOON + MINUTE)
    system.notes.give_back(taken)
    system.engine.beat()
    assert last_request(system, "web") == NOON + MINUTE


def test_of_two_sights_the_first_one_is_kept_though_it_was_given_back(
    system: System,
) -> None:
    system.notes.see(a_sight(at=NOON))
    taken = system.notes.take()
    system.notes.see(a_sight(at=NOON + MINUTE))
    system.notes.give_back(taken)
    system.engine.beat()
    with system.store.snapshot() as snapshot:
        assert snapshot.seen("E0") == [a_sight(at=NOON)]


def test_a_vm_sees_an_event_for_the_first_time_only_once(system: System) -> None:
    for minute in range(3):
        system.notes.see(a_sight(at=NOON + minute * MINUTE))
        system.engine.beat()
    assert len(system.facts(Seen)) == 1


def test_the_heartbeat_writes_the_notes(system: System) -> None:
    system.notes.ask("web", NOON)
    system.engine.beat()
    assert last_request(system, "web") == NOON


def test_notes_can_be_written_alone(system: System) -> None:
    system.notes.ask("web", NOON)
    system.engine.write_notes()
    assert last_request(system, "web") == NOON


def test_taking_notes_leaves_none() -> None:
    notes = Notes()
    notes.ask("web", NOON)
    notes.see(a_sight())
    taken = notes.take()
    assert (taken.asked, taken.sights) == ({"web": NOON}, [a_sight()])
    assert not notes.are_there
    assert not notes.take()


def test_the_latest_request_of_a_group_counts() -> None:
    notes = Notes()
    notes.ask("web", NOON)
    notes.ask("web", NOON + MINUTE)
    assert notes.take().asked == {"web": NOON + MINUTE}
