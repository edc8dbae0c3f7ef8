"""What every store must do when a part of the journal is asked for."""

from typing import get_args

import pytest
from tests.stores.things import (
    MINUTE,
    NOON,
    ONE_OF_EACH,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    canceled,
    completed,
    put,
    started,
)

from forewarn.core import facts as f
from forewarn.core.maintenance import Slice
from forewarn.core.settling import Step
from forewarn.ports import Store


def positions(store: Store, **asked: object) -> list[int]:
    where = {"after": 0, "until": 100, "limit": 100, **asked}
    with store.snapshot() as snapshot:
        found = snapshot.facts(**where)  # type: ignore[arg-type]  # as the test says
    return [each.position for each in found]


def two_lives(store: Store) -> None:
    """Put facts of the fleet at 1, of M0 at 2, 4 and 6, of M1 at 3 and 5."""
    put(
        store,
        a_fleet(),
        announced(a_maintenance("M0")),
        announced(a_maintenance("M1")),
        started("M0"),
        canceled("M1"),
        completed("M0"),
    )


class SearchesContract:
    """Parts of the journal, found at their place."""

    @pytest.mark.parametrize(
        ("minutes", "position"),
        [(-1, 0), (0, 0), (0.5, 2), (1, 2), (2, 5), (2.5, 6), (9, 6)],
    )
    def test_a_time_is_found_by_its_position(
        self, store: Store, minutes: float, position: int
    ) -> None:
        for number, at in enumerate((0, 0, 1, 1, 1, 2)):
            put(store, a_seen(number, at=NOON + at * MINUTE))
        with store.snapshot() as snapshot:
            assert snapshot.position_before(NOON + minutes * MINUTE) == position

    def test_an_empty_journal_goes_nowhere(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.position_before(NOON) == 0
        assert positions(store) == []

    def test_a_part_lies_behind_one_position_and_ends_with_another(
        self, store: Store
    ) -> None:
        put(store, *(a_seen(number) for number in range(1, 8)))
        assert positions(store, after=2, until=5) == [3, 4, 5]
        assert positions(store, after=2, until=5, limit=2) == [3, 4]
        assert positions(store, after=5, until=5) == []

    def test_facts_come_back_as_they_were_saved(self, store: Store) -> None:
        put(store, a_seen(1), a_seen(2))
        with store.snapshot() as snapshot:
            found = snapshot.facts(after=0, until=2, limit=9)
        assert found == store.facts(0, 9)

    def test_kinds_of_facts_are_found(self, store: Store) -> None:
        two_lives(store)
        assert positions(store, kinds=[f.Announced]) == [2, 3]
        assert positions(store, kinds=[f.Started, f.Announced]) == [2, 3, 4]
        assert positions(store, kinds=[f.Announced], after=2) == [3]
        assert positions(store, kinds=[f.Announced], until=2) == [2]
        assert positions(store, kinds=[f.Announced], limit=1) == [2]
        assert positions(store, kinds=[f.OutageEnded]) == []

    def test_all_kinds_may_be_named_at_once(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.save(Slice(), Step(Slice(), ONE_OF_EACH), {})
        every = [*range(1, len(ONE_OF_EACH) + 1)]
        assert positions(store, kinds=get_args(f.Fact)) == every

    def test_facts_of_maintenances_are_found_in_order(self, store: Store) -> None:
        two_lives(store)
        assert positions(store, maintenances=["M0"]) == [2, 4, 6]
        assert positions(store, maintenances=["M1", "M0"]) == [2, 3, 4, 5, 6]
        assert positions(store, maintenances=["M0"], after=2, until=5) == [4]
        assert positions(store, maintenances=["M1", "M0"], limit=3) == [2, 3, 4]
        assert positions(store, maintenances=["M2"]) == []

    def test_of_a_maintenance_facts_of_other_kinds_are_not_left_out(
        self, store: Store
    ) -> None:
        two_lives(store)
        assert positions(store, maintenances=["M0"], kinds=[f.Started]) == [2, 4, 6]
