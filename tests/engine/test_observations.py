"""Pending observations of the metadata plane, written with the next transaction."""

from datetime import datetime

import pytest
from tests.engine.support.system import HOUR, MINUTE, NOON, System, a_reboot

from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Announced, Seen, Sight
from forewarn.core.lifecycle.model import Phase
from forewarn.engine.observations import PendingObservations
from forewarn.errors import NotFound
from forewarn.protocol.types import EventSource, EventType


def a_sighting(event: str = "E0", vm: str = "web-0", at: datetime = NOON) -> Sight:
    return Sight(event=event, vm=vm, at=at)


def last_request(system: System, group: str) -> datetime | None:
    return system.fleet().groups[group].last_request


def test_observations_stay_in_memory_until_something_is_written(system: System) -> None:
    system.observations.add_poll("web", NOON)
    assert system.observations.has_any
    assert last_request(system, "web") is None


def test_observations_are_written_with_the_next_transaction(system: System) -> None:
    system.observations.add_poll("web", NOON)
    system.observations.add_sight(a_sighting())
    system.announce(a_reboot("db-0"))
    assert not system.observations.has_any
    assert last_request(system, "web") == NOON
    assert system.facts(Seen) == [Seen(at=NOON, sights=(a_sighting(),))]


def test_observations_are_written_before_the_command_decides(system: System) -> None:
    system.clock.move_to(NOON + HOUR)
    system.observations.add_poll("lone", NOON + HOUR)
    maintenance = system.announce(
        Order(type=EventType.REBOOT, vms=("lone",), source=EventSource.USER)
    )
    assert maintenance.phase is Phase.SCHEDULED  # enabled by the observation alone


def test_sightings_are_journaled_before_the_effects_of_the_command(
    system: System,
) -> None:
    system.observations.add_sight(a_sighting())
    system.announce(a_reboot("web-0"))
    kinds = [type(fact) for fact in system.journal()]
    assert kinds.index(Seen) < kinds.index(Announced)


def test_observations_are_returned_when_the_transaction_fails(system: System) -> None:
    system.observations.add_poll("web", NOON)
    system.observations.add_sight(a_sighting())
    with pytest.raises(NotFound):
        system.announce(a_reboot("web-9"))
    assert system.observations.has_any
    assert last_request(system, "web") is None
    assert not system.facts(Seen)
    system.engine.beat()
    assert last_request(system, "web") == NOON
    assert system.facts(Seen) == [Seen(at=NOON, sights=(a_sighting(),))]


def test_a_returned_observation_does_not_hide_a_newer_one(system: System) -> None:
    system.observations.add_poll("web", NOON)
    taken = system.observations.take()
    system.observations.add_poll("web", NOON + MINUTE)
    system.observations.give_back(taken)
    system.engine.beat()
    assert last_request(system, "web") == NOON + MINUTE


def test_the_earlier_of_two_sightings_is_kept_even_if_returned(
    system: System,
) -> None:
    system.observations.add_sight(a_sighting(at=NOON))
    taken = system.observations.take()
    system.observations.add_sight(a_sighting(at=NOON + MINUTE))
    system.observations.give_back(taken)
    system.engine.beat()
    with system.store.snapshot() as snapshot:
        assert snapshot.seen("E0") == [a_sighting(at=NOON)]


def test_the_first_sighting_by_a_vm_is_recorded_once(system: System) -> None:
    for minute in range(3):
        system.observations.add_sight(a_sighting(at=NOON + minute * MINUTE))
        system.engine.beat()
    assert len(system.facts(Seen)) == 1


def test_the_heartbeat_writes_the_observations(system: System) -> None:
    system.observations.add_poll("web", NOON)
    system.engine.beat()
    assert last_request(system, "web") == NOON


def test_observations_can_be_written_on_their_own(system: System) -> None:
    system.observations.add_poll("web", NOON)
    system.engine.save_observations()
    assert last_request(system, "web") == NOON


def test_taking_observations_leaves_none() -> None:
    observations = PendingObservations()
    observations.add_poll("web", NOON)
    observations.add_sight(a_sighting())
    taken = observations.take()
    assert (taken.polls, taken.sights) == ({"web": NOON}, [a_sighting()])
    assert not observations.has_any


def test_the_latest_request_of_a_group_counts() -> None:
    observations = PendingObservations()
    observations.add_poll("web", NOON)
    observations.add_poll("web", NOON + MINUTE)
    assert observations.take().polls == {"web": NOON + MINUTE}
