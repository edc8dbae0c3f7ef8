"""Contract of every store that outlives its process: reopened, and used by one."""

import pytest
from tests.stores.builders import (
    MINUTE,
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    opened,
    put,
    whole_state,
)
from tests.stores.conftest import MakeStore

from forewarn.core.lifecycle.facts import OutageEnded
from forewarn.core.outages import Outage
from forewarn.errors import CannotStart


def test_state_is_kept_when_the_database_is_reopened(make_store: MakeStore) -> None:
    outage = Outage(since=NOON, until=NOON + MINUTE)
    with opened(make_store()) as store:
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        put(store, OutageEnded(at=outage.until, outage=outage))
        with store.snapshot() as snapshot:
            before = whole_state(snapshot)
    with opened(make_store()) as store, store.snapshot() as snapshot:
        assert whole_state(snapshot) == before
        assert before.outages == (outage,)
        assert (snapshot.position(), snapshot.next_moment()) == (3, NOON)


def test_first_store_is_not_disturbed_by_a_second_one(make_store: MakeStore) -> None:
    with opened(make_store()) as store:
        for position in (1, 2):  # the first refusal does not release the lock
            with pytest.raises(CannotStart, match="in use"):
                make_store().open()
            assert put(store, a_seen(position)) == position


def test_close_releases_the_database(make_store: MakeStore) -> None:
    for position in (1, 2, 3):
        with opened(make_store()) as store:
            assert put(store, a_seen(position)) == position
