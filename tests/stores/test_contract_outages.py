"""Contract of every store: outages of the service."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.stores.builders import (
    MINUTE,
    NOON,
    a_fleet,
    a_maintenance,
    announced,
    canceled,
    put,
    whole_state,
)

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.lifecycle.transitions import apply
from forewarn.core.outages import Outage
from forewarn.ports import Store, Transaction

MICROSECOND = timedelta(microseconds=1)


def an_outage(since: int = 1, until: int = 2) -> Outage:
    """Make an outage from `since` to `until`, in minutes after noon."""
    return Outage(since=NOON + since * MINUTE, until=NOON + until * MINUTE)


def ended(outage: Outage) -> f.OutageEnded:
    return f.OutageEnded(at=outage.until, outage=outage)


def an_announcement(
    name: str = "M0", *, minute: int = 0, group: str = "web"
) -> f.Announced:
    """Announce maintenance `minute` minutes after noon."""
    at = NOON + minute * MINUTE
    return announced(replace(a_maintenance(name, groups=(group,)), announced_at=at))


def note_request(store: Store, **when: datetime) -> None:
    with store.transaction() as transaction:
        transaction.save_observations(when, [], NOON)


def outages(store: Store, *groups: str) -> tuple[Outage, ...]:
    """Return the outages in the slice of `groups`, or of all groups."""
    with store.snapshot() as snapshot:
        return snapshot.slice(groups or None).outages


class TestOutages:
    """Outages, back to the oldest state that needs them."""

    def test_outage_is_kept_to_the_microsecond(self, store: Store) -> None:
        outage = Outage(since=NOON + MICROSECOND, until=NOON + 29 * MINUTE)
        put(store, a_fleet(), an_announcement())
        put(store, ended(outage))
        assert outages(store, "web") == outages(store) == (outage,)

    def test_outages_are_ordered_oldest_first(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement())
        several = [an_outage(1, 20), an_outage(20, 21), an_outage(30, 31)]
        for outage in several:
            put(store, ended(outage))
        assert outages(store, "web") == outages(store) == (*several,)

    def test_outages_reach_back_to_the_first_announcement(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement("M1", minute=5))
        put(store, an_announcement("M0", minute=2), ended(an_outage(3, 4)))
        assert outages(store, "web") == (an_outage(3, 4),)

    def test_outages_reach_back_to_the_last_request_of_a_group(
        self, store: Store
    ) -> None:
        put(store, a_fleet(), ended(an_outage(1, 2)), ended(an_outage(3, 4)))
        note_request(store, web=NOON + 2 * MINUTE, db=NOON + 4 * MINUTE)
        assert outages(store, "web") == (an_outage(3, 4),)
        assert outages(store, "db") == ()
        assert outages(store) == (an_outage(3, 4),)

    def test_outage_in_progress_at_the_announcement_counts(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement(minute=5), ended(an_outage(4, 6)))
        assert outages(store, "web") == (an_outage(4, 6),)

    @pytest.mark.parametrize("groups", [("web",), ("web", "db")])
    def test_outage_that_ended_before_does_not_count(
        self, store: Store, groups: tuple[str, ...]
    ) -> None:
        put(store, a_fleet(), ended(an_outage(1, 2)))
        put(store, an_announcement(minute=2))
        assert outages(store, *groups) == outages(store) == ()

    def test_slice_has_outages_for_its_own_groups_only(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement("M0", minute=0, group="db"))
        put(store, ended(an_outage(1, 2)), an_announcement("M1", minute=3))
        assert outages(store, "web") == ()
        assert outages(store, "web", "db") == (an_outage(1, 2),)

    def test_finished_maintenance_needs_no_outages(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement(), ended(an_outage()))
        put(store, canceled())
        assert outages(store, "web") == outages(store) == ()

    def test_slice_of_no_groups_has_no_outages(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement(), ended(an_outage()))
        with store.snapshot() as snapshot:
            assert snapshot.slice([]) == Slice()

    def test_transaction_sees_its_own_outage(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement())
        with store.transaction() as transaction:
            _note_an_outage(transaction, Slice())
            assert transaction.slice(["web"]).outages == (an_outage(),)

    def test_known_outage_is_not_added_again(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement(), ended(an_outage()))
        put(store, an_announcement("M1", minute=3))
        put(store, canceled("M0"))
        put(store, an_announcement("M2"))
        assert outages(store, "web") == (an_outage(),)

    def test_outage_of_a_failed_transaction_is_not_kept(self, store: Store) -> None:
        put(store, a_fleet(), an_announcement())
        with pytest.raises(ValueError, match="no"):
            _note_an_outage_and_fail(store)
        assert outages(store) == ()
        assert len(store.facts(0, 10)) == 2
        put(store, ended(an_outage()))
        assert outages(store) == (an_outage(),)


def _note_an_outage(transaction: Transaction, before: Slice) -> None:
    fact = ended(an_outage())
    transaction.save(before, Step(apply(before, fact), (fact,)), {})


def _note_an_outage_and_fail(store: Store) -> None:
    with store.transaction() as transaction:
        before = whole_state(transaction)
        _note_an_outage(transaction, before)
        assert transaction.slice(["web"]).outages == (an_outage(),)
        raise ValueError("no")
