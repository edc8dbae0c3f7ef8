"""Commits that were stored but not confirmed."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.engine.support.system import FLEET, NOON, FailingStore, OpenStore, a_reboot

from forewarn.clocks import ManualClock
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.tokens import Role
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.observations import PendingObservations
from forewarn.engine.sessions import Sessions
from forewarn.engine.tokens import TokenHolder, Tokens, UnknownToken
from forewarn.errors import Conflict, Unavailable
from forewarn.ports import Transaction


class UncertainStore(FailingStore):
    """Store that may keep a transaction without confirming it."""

    confirms = True

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with super().transaction() as transaction:
            yield transaction
        if not self.confirms:
            raise Unavailable("whether it was kept is unknown")


@pytest.fixture
def store(open_store: OpenStore) -> UncertainStore:
    return UncertainStore(open_store())


@pytest.fixture
def positions() -> list[int]:
    return []


@pytest.fixture
def doubts() -> list[bool]:
    return []


@pytest.fixture
def engine(store: UncertainStore, positions: list[int], doubts: list[bool]) -> Engine:
    uncertain = Engine(
        store,
        ManualClock(NOON),
        rules=Rules(),
        observations=PendingObservations(),
        after_commit=positions.append,
        on_doubt=lambda: doubts.append(uncertain.is_in_doubt),
    )
    FleetCommands(uncertain).apply(FLEET, by="ops")
    return uncertain


def announce_unconfirmed(engine: Engine, store: UncertainStore) -> None:
    store.confirms = False
    with pytest.raises(Unavailable):
        engine.announce(a_reboot("web-0"), by="ops")


def test_a_commit_in_doubt_is_announced_after_the_next_commit(
    engine: Engine, store: UncertainStore, positions: list[int]
) -> None:
    positions.clear()
    announce_unconfirmed(engine, store)
    assert positions == []
    store.confirms = True
    engine.beat()
    engine.beat()
    assert positions == [len(store.facts(0, 100))]


def test_doubt_is_reported_once_until_it_is_over(
    engine: Engine, store: UncertainStore, doubts: list[bool]
) -> None:
    for _ in range(2):
        announce_unconfirmed(engine, store)
        announce_unconfirmed(engine, store)
        store.confirms = True
        engine.beat()
    assert doubts == [True, True]
    assert not engine.is_in_doubt


def test_a_refused_command_leaves_no_doubt(engine: Engine) -> None:
    with pytest.raises(LookupError), engine.writing():
        raise LookupError
    assert not engine.is_in_doubt


def test_a_token_revoked_in_doubt_is_invalid_once_the_commit_is_known(
    engine: Engine, store: UncertainStore
) -> None:
    tokens = Tokens(engine, "first")
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    store.confirms = False
    with pytest.raises(Unavailable):
        tokens.revoke("ci", by="admin")
    assert isinstance(tokens.holder_of(text), TokenHolder)
    store.confirms = True
    assert engine.are_tokens_stale
    tokens.reload()
    assert tokens.holder_of(text) is UnknownToken.REVOKED


def test_a_token_created_in_doubt_reserves_its_name(
    engine: Engine, store: UncertainStore
) -> None:
    tokens = Tokens(engine, "first")
    store.confirms = False
    with pytest.raises(Unavailable):
        tokens.create("ci", Role.VIEWER, by="admin")
    store.confirms = True
    with pytest.raises(Conflict):
        tokens.create("ci", Role.VIEWER, by="admin")


def test_a_session_signed_out_in_doubt_is_ended_once_the_commit_is_known(
    engine: Engine, store: UncertainStore
) -> None:
    sessions = Sessions(engine, Tokens(engine, "first"), ManualClock(NOON))
    session = sessions.begin(TokenHolder(name="admin", role=Role.ADMIN))
    store.confirms = False
    with pytest.raises(Unavailable):
        sessions.end(session.holder)
    assert sessions.is_good(session.holder)
    store.confirms = True
    sessions.reload_if_stale()
    assert not sessions.is_good(session.holder)
