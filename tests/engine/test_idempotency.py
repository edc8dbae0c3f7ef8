"""Idempotency keys: repeated requests are carried out once."""

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)
from tests.stores.builders import opened, sqlite_store
from tests.stores.watched_store import watched

from forewarn.core.lifecycle.facts import Announced, WorkEnded
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.engine.idempotency import IdempotencyKey, Receipts
from forewarn.engine.write_queue import WriteRank
from forewarn.errors import InvalidInput, Repeated, Throttled, TooLate, Unavailable
from forewarn.ports import Snapshot
from forewarn.stores.sqlite import MEMORY

_T = TypeVar("_T")

MICROSECOND = timedelta(microseconds=1)


def once(key: str = "K", *, body: str = "body") -> IdempotencyKey[_T]:
    return IdempotencyKey(key=key, digest=body, render=lambda result, _: repr(result))


def repeated(call: Callable[[], object]) -> str:
    """Return the result stored when `call` was first made."""
    with pytest.raises(Repeated) as answered:
        call()
    return answered.value.answer


def test_the_same_key_and_body_return_the_same_result(system: System) -> None:
    maintenances = system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    answer = repeated(
        lambda: system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    )
    assert answer == repr(maintenances)
    assert len(system.facts(Announced)) == 1


def test_the_result_stays_the_same_when_the_state_changes(system: System) -> None:
    (maintenance,) = system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    system.engine.cancel(maintenance.id, by="ops")
    answer = repeated(
        lambda: system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    )
    assert answer == repr([maintenance])


def test_the_same_key_with_another_body_is_refused(system: System) -> None:
    system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    with pytest.raises(InvalidInput, match="Idempotency-Key"):
        system.engine.announce(a_reboot("db-0"), by="ops", once=once(body="other"))
    assert len(system.facts(Announced)) == 1


def test_another_key_is_another_request(system: System) -> None:
    for key in ("K0", "K1"):
        system.engine.announce(a_reboot("web-0"), by="ops", once=once(key))
    assert len(system.facts(Announced)) == 2


def test_a_key_is_remembered_for_24_hours(system: System) -> None:
    system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    system.advance.by(24 * HOUR)
    repeated(lambda: system.engine.announce(a_reboot("web-0"), by="ops", once=once()))
    system.advance.by(MICROSECOND)
    system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    assert len(system.facts(Announced)) == 2


def test_a_key_is_remembered_across_a_restart(
    open_store: OpenStore, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "forewarn.db")
    maintenances = a_system(store).engine.announce(
        a_reboot("web-0"), by="ops", once=once()
    )
    store.close()
    system = a_system(open_store(tmp_path / "forewarn.db"), fleet=None)
    assert repr(maintenances) == repeated(
        lambda: system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    )


def test_a_refused_request_is_not_remembered(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    with pytest.raises(TooLate):
        system.engine.complete(maintenance.id, by="ops", once=once())
    system.engine.approve(maintenance.events[0].id, by="ops")
    system.engine.complete(maintenance.id, by="ops", once=once())
    assert len(system.facts(WorkEnded)) == 1


def test_a_result_that_cannot_be_rendered_undoes_the_command(system: System) -> None:
    def burst(result: object, snapshot: Snapshot) -> str:
        raise ArithmeticError("no")

    bad: IdempotencyKey[Sequence[Maintenance]] = IdempotencyKey(
        key="K", digest="body", render=burst
    )
    before = system.journal()
    with pytest.raises(ArithmeticError):
        system.engine.announce(a_reboot("web-0"), by="ops", once=bad)
    assert system.journal() == before
    system.engine.announce(a_reboot("web-0"), by="ops", once=once())
    assert len(system.facts(Announced)) == 1


def test_the_result_is_rendered_from_the_state_after_the_command(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    phases: list[Phase | None] = []

    def render(result: Maintenance, snapshot: Snapshot) -> str:
        stored = snapshot.maintenance(result.id)
        phases.append(None if stored is None else stored.phase)
        return ""

    key: IdempotencyKey[Maintenance] = IdempotencyKey(
        key="K", digest="body", render=render
    )
    system.engine.cancel(maintenance.id, by="ops", once=key)
    assert phases == [Phase.CANCELED]


def test_every_maintenance_command_accepts_a_key(system: System) -> None:
    engine = system.engine
    approved, canceled = (
        system.announce(a_reboot(vm, minutes=30)) for vm in ("web-0", "db-0")
    )
    closed, retried = system.stuck("lone"), system.stuck("iso-0")
    commands: list[Callable[[], Maintenance]] = [
        lambda: engine.approve(approved.events[0].id, by="ops", once=once("approve")),
        lambda: engine.cancel(canceled.id, by="ops", once=once("cancel")),
        lambda: engine.close(closed.id, by="ops", once=once("close")),
        lambda: engine.retry(retried.id, by="ops", once=once("retry")),
        lambda: engine.complete(approved.id, by="ops", once=once("complete")),
    ]
    answers = [repr(command()) for command in commands]
    before = system.journal()
    system.clock.move_to(NOON + MINUTE)
    assert [repeated(command) for command in commands] == answers
    assert system.journal() == before


def test_a_repeated_advance_moves_the_clock_once(system: System) -> None:
    key: IdempotencyKey[datetime] = once()
    assert system.advance.by(HOUR, key) == NOON + HOUR
    assert repeated(lambda: system.advance.by(HOUR, key)) == repr(NOON + HOUR)
    assert system.clock.now() == NOON + HOUR


def test_a_repeated_request_loses_no_observations(system: System) -> None:
    system.engine.announce(an_emergency("web-0"), by="ops", once=once())
    system.observations.add_poll("web", NOON)
    repeated(
        lambda: system.engine.announce(an_emergency("web-0"), by="ops", once=once())
    )
    system.engine.beat()
    assert system.fleet().groups["web"].last_request == NOON


def test_an_approval_that_changes_nothing_is_not_remembered(system: System) -> None:
    event = system.announce(a_reboot("web-0")).events[0].id
    system.engine.approve(event, by="ops")
    for key in ("K0", "K1", "K1"):
        system.engine.approve(event, by="ops", once=once(key))
    with system.store.snapshot() as snapshot:
        assert [snapshot.receipt(key) for key in ("K0", "K1")] == [None, None]


def test_a_token_has_a_limited_number_of_keys(system: System) -> None:
    def announce(key: str, holder: str = "T") -> object:
        return system.engine.announce(
            a_reboot("web-0"), by="ops", once=replace(once(key), holder=holder)
        )

    system.engine.receipts = Receipts(most=2)
    announce("K0")
    announce("K1")
    system.advance.by(90 * MINUTE)
    with (
        system.engine.write_queue.turn(WriteRank.SERVICE, "another"),
        pytest.raises(Throttled, match=r"2 Idempotency-Keys.*in 23 h 30 min") as full,
    ):
        announce("K2")
    wait = timedelta(seconds=full.value.retry_after)
    assert wait == 23 * HOUR + 30 * MINUTE
    repeated(lambda: announce("K0"))
    announce("K3", holder="another")
    assert len(system.facts(Announced)) == 3
    assert system.engine.receipts.refused == 1
    system.advance.by(wait - MICROSECOND)
    with pytest.raises(Throttled):
        announce("K2")
    system.advance.by(MICROSECOND)
    announce("K2")


def test_a_key_whose_request_was_not_saved_does_not_count() -> None:
    def announce() -> object:
        return system.engine.announce(a_reboot("web-0"), by="ops", once=once())

    def fail_if_full(sql: str) -> None:
        if sql == "COMMIT" and is_full:
            raise sqlite3.OperationalError("database or disk is full")

    is_full = False
    with opened(sqlite_store(MEMORY, watched(fail_if_full))) as store:
        system = a_system(store)
        system.engine.receipts = Receipts(most=2)
        is_full = True
        for _ in range(3):
            with pytest.raises(Unavailable, match="disk is full"):
                announce()
        is_full = False
        announce()
        assert len(system.facts(Announced)) == 1
