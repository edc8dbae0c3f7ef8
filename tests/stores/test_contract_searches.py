"""Contract of every store: searches in the journal."""

from typing import get_args

import pytest
from tests.core.test_serialization import FACTS
from tests.stores.builders import (
    MINUTE,
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    canceled,
    completed,
    put,
    started,
)

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.ports import Store


def positions(store: Store, **asked: object) -> list[int]:
    where = {"after": 0, "until": 100, "limit": 100, **asked}
    with store.snapshot() as snapshot:
        entries = snapshot.facts(**where)  # type: ignore[arg-type]  # arguments of the test
    return [entry.position for entry in entries]


def save_two_maintenances(store: Store) -> None:
    """Save facts of the fleet at 1, of M0 at 2, 4 and 6, and of M1 at 3 and 5."""
    put(
        store,
        a_fleet(),
        announced(a_maintenance("M0")),
        announced(a_maintenance("M1")),
        started("M0"),
        canceled("M1"),
        completed("M0"),
    )


class TestSearches:
    """Searches by time, position, kind and maintenance."""

    @pytest.mark.parametrize(
        ("minutes", "position"),
        [(-1, 0), (0, 0), (0.5, 2), (1, 2), (2, 5), (2.5, 6), (9, 6)],
    )
    def test_position_before_a_time(
        self, store: Store, minutes: float, position: int
    ) -> None:
        for number, at in enumerate((0, 0, 1, 1, 1, 2)):
            put(store, a_seen(number, at=NOON + at * MINUTE))
        with store.snapshot() as snapshot:
            assert snapshot.position_before(NOON + minutes * MINUTE) == position

    def test_empty_journal_has_no_positions(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.position_before(NOON) == 0
        assert positions(store) == []

    def test_range_excludes_its_start_and_includes_its_end(self, store: Store) -> None:
        put(store, *(a_seen(number) for number in range(1, 8)))
        assert positions(store, after=2, until=5) == [3, 4, 5]
        assert positions(store, after=2, until=5, limit=2) == [3, 4]
        assert positions(store, after=5, until=5) == []

    def test_facts_are_read_back_unchanged(self, store: Store) -> None:
        put(store, a_seen(1), a_seen(2))
        with store.snapshot() as snapshot:
            entries = snapshot.facts(after=0, until=2, limit=9)
        assert entries == store.facts(0, 9)

    def test_facts_are_found_by_kind(self, store: Store) -> None:
        save_two_maintenances(store)
        assert positions(store, kinds=[f.Announced]) == [2, 3]
        assert positions(store, kinds=[f.Started, f.Announced]) == [2, 3, 4]
        assert positions(store, kinds=[f.Announced], after=2) == [3]
        assert positions(store, kinds=[f.Announced], until=2) == [2]
        assert positions(store, kinds=[f.Announced], limit=1) == [2]
        assert positions(store, kinds=[f.OutageEnded]) == []

    def test_all_kinds_may_be_named_at_once(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.save(Slice(), Step(Slice(), FACTS), {})
        every = [*range(1, len(FACTS) + 1)]
        assert positions(store, kinds=get_args(f.Fact)) == every

    def test_facts_of_maintenance_are_found_in_order(self, store: Store) -> None:
        save_two_maintenances(store)
        assert positions(store, maintenances=["M0"]) == [2, 4, 6]
        assert positions(store, maintenances=["M1", "M0"]) == [2, 3, 4, 5, 6]
        assert positions(store, maintenances=["M0"], after=2, until=5) == [4]
        assert positions(store, maintenances=["M1", "M0"], limit=3) == [2, 3, 4]
        assert positions(store, maintenances=["M2"]) == []

    def test_kinds_do_not_restrict_facts_of_a_maintenance(self, store: Store) -> None:
        save_two_maintenances(store)
        assert positions(store, maintenances=["M0"], kinds=[f.Started]) == [2, 4, 6]
