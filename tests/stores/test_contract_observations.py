"""Contract of every store: sightings, requests, settings and receipts next to the
journal.
"""

from datetime import datetime, timedelta

import pytest
from tests.stores.builders import (
    MINUTE,
    NOON,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    put,
    started,
    whole_state,
)

from forewarn.core.fleet import VM
from forewarn.core.lifecycle import transitions
from forewarn.core.lifecycle.facts import Seen, Sight
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import InvalidInput, Unavailable
from forewarn.ports import Receipt, Store

DAY = timedelta(hours=24)
MICROSECOND = timedelta(microseconds=1)


def a_sighting(event: str = "E0", vm: str = "web-0", at: datetime = NOON) -> Sight:
    return Sight(event=event, vm=vm, at=at)


def a_receipt(key: str = "K0", *, answer: str = "{}", at: datetime = NOON) -> Receipt:
    return Receipt(key=key, digest="d0", answer=answer, at=at)


def note(store: Store, *sights: Sight, **asked: datetime) -> None:
    with store.transaction() as transaction:
        transaction.save_observations(asked, sights, NOON + MINUTE)


def keep_receipt(store: Store, receipt: Receipt) -> None:
    with store.transaction() as transaction:
        transaction.keep_receipt(receipt, forget_before=receipt.at - DAY)


class TestNotes:
    """Sightings of events, and the time of the last request."""

    def test_sighting_is_kept_and_journaled(self, store: Store) -> None:
        note(store, a_sighting(at=NOON + MICROSECOND))
        with store.snapshot() as snapshot:
            assert snapshot.seen("E0") == [a_sighting(at=NOON + MICROSECOND)]
        (entry,) = store.facts(0, 10)
        assert entry.fact == Seen(
            at=NOON + MINUTE, sights=(a_sighting(at=NOON + MICROSECOND),)
        )

    def test_first_of_two_sightings_in_one_note_is_kept(self, store: Store) -> None:
        note(store, a_sighting(at=NOON), a_sighting(at=NOON + MINUTE))
        with store.snapshot() as snapshot:
            assert snapshot.seen("E0") == [a_sighting(at=NOON)]

    def test_repeated_sighting_is_ignored(self, store: Store) -> None:
        note(store, a_sighting())
        note(store, a_sighting(at=NOON + MINUTE), a_sighting(vm="web-1"))
        (_, second) = (entry.fact for entry in store.facts(0, 10))
        assert second == Seen(at=NOON + MINUTE, sights=(a_sighting(vm="web-1"),))

    def test_note_without_changes_leaves_the_journal_alone(self, store: Store) -> None:
        note(store, a_sighting())
        note(store, a_sighting(), web=NOON)
        assert len(store.facts(0, 10)) == 1

    def test_sightings_are_ordered_by_time(self, store: Store) -> None:
        note(store, a_sighting(vm="web-1", at=NOON + MINUTE), a_sighting(vm="web-2"))
        note(store, a_sighting(vm="web-0", at=NOON + 2 * MINUTE))
        with store.snapshot() as snapshot:
            assert [sight.vm for sight in snapshot.seen("E0")] == [
                "web-2",
                "web-1",
                "web-0",
            ]

    def test_unseen_event_has_no_sightings(self, store: Store) -> None:
        note(store, a_sighting("E0"))
        with store.snapshot() as snapshot:
            assert snapshot.seen("E1") == []

    @pytest.mark.parametrize("count", [2, 250])
    def test_sightings_of_many_events_are_ordered_by_time(
        self, store: Store, count: int
    ) -> None:
        sights = [
            a_sighting(f"E{number}", at=NOON - number * MINUTE)
            for number in range(count)
        ]
        note(store, *sights, a_sighting("other"))
        with store.snapshot() as snapshot:
            assert snapshot.seen(*(sight.event for sight in sights)) == sights[::-1]

    def test_no_events_have_no_sightings(self, store: Store) -> None:
        note(store, a_sighting())
        with store.snapshot() as snapshot:
            assert snapshot.seen() == []

    def test_last_request_of_a_group_is_kept_without_a_fact(self, store: Store) -> None:
        put(store, a_fleet())
        note(store, web=NOON + MINUTE)
        with store.snapshot() as snapshot:
            groups = snapshot.fleet().groups
            assert snapshot.position() == 1
        assert groups["web"].last_request == NOON + MINUTE
        assert groups["db"].last_request is None

    def test_request_of_a_removed_group_is_ignored(self, store: Store) -> None:
        put(store, a_fleet())
        note(store, gone=NOON)
        with store.snapshot() as snapshot:
            assert "gone" not in snapshot.fleet().groups


class TestSettings:
    """Named settings, and receipts of idempotent requests."""

    def test_a_setting_is_kept_and_can_change(self, store: Store) -> None:
        for value in ("one", "two"):
            with store.transaction() as transaction:
                transaction.keep("clock", value)
        with store.snapshot() as snapshot:
            assert snapshot.setting("clock") == "two"

    def test_an_unknown_setting_is_none(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.setting("clock") is None

    def test_transaction_sees_its_own_settings(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.keep("clock", "one")
            assert transaction.setting("clock") == "one"

    def test_receipt_is_read_back_unchanged(self, store: Store) -> None:
        receipt = a_receipt(answer='{"größe": 1}', at=NOON + MICROSECOND)
        keep_receipt(store, receipt)
        with store.snapshot() as snapshot:
            assert snapshot.receipt("K0") == receipt
            assert snapshot.receipt("K1") is None

    def test_receipt_of_exactly_a_day_is_kept(self, store: Store) -> None:
        keep_receipt(store, a_receipt("K1"))
        keep_receipt(store, a_receipt("K0", at=NOON + DAY))
        with store.snapshot() as snapshot:
            assert snapshot.receipt("K1") == a_receipt("K1")

    def test_a_new_receipt_deletes_a_few_older_ones(self, store: Store) -> None:
        older = [f"K{number}" for number in range(100, 130)]
        for key in older:
            keep_receipt(store, a_receipt(key))
        keep_receipt(store, a_receipt("K0", at=NOON + DAY + MICROSECOND))
        with store.snapshot() as snapshot:
            kept = [key for key in older if snapshot.receipt(key)]
        assert kept == older[10:]

    def test_deleted_key_can_be_used_again(self, store: Store) -> None:
        keep_receipt(store, a_receipt("K0"))
        again = a_receipt("K0", answer="[]", at=NOON + DAY + MICROSECOND)
        keep_receipt(store, again)
        with store.snapshot() as snapshot:
            assert snapshot.receipt("K0") == again


class TestRollback:
    """Rollback: a failed block changes nothing."""

    @pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
    def test_failed_transaction_changes_nothing(
        self, store: Store, failure: type[BaseException]
    ) -> None:
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        with store.snapshot() as snapshot:
            before = whole_state(snapshot)
        with pytest.raises(failure):
            _write_everything_and_fail(store, failure("no"))
        with store.snapshot() as snapshot:
            assert whole_state(snapshot) == before
            assert (snapshot.position(), snapshot.next_moment()) == (2, NOON)
            assert snapshot.seen("E0") == []
            assert snapshot.setting("clock") is None
            assert snapshot.receipt("K0") is None

    def test_positions_of_a_failed_transaction_are_reused(self, store: Store) -> None:
        put(store, a_fleet(), announced(a_maintenance()))
        with pytest.raises(ValueError, match="no"):
            _write_everything_and_fail(store, ValueError("no"))
        assert put(store, a_seen(1)) == 3
        assert [entry.position for entry in store.facts(0, 10)] == [1, 2, 3]

    @pytest.mark.parametrize("text", ["\ud83d", "\0"], ids=["half", "nul"])
    def test_text_that_some_databases_cannot_store_is_refused(
        self, store: Store, text: str
    ) -> None:
        with pytest.raises(InvalidInput), store.transaction() as transaction:
            transaction.keep("clock", f"no character: {text}")
        with pytest.raises(InvalidInput), store.transaction() as transaction:
            transaction.save_observations({}, [a_sighting(text)], NOON)
        with pytest.raises(InvalidInput), store.snapshot() as snapshot:
            snapshot.maintenance(text)
        with store.snapshot() as snapshot:
            assert (snapshot.setting("clock"), snapshot.position()) == (None, 0)

    def test_json_keeps_every_character(self, store: Store) -> None:
        vm = VM(name="web-0", group="web", tags={"a": "\0 \U0001f600 \x7f \u2028"})
        put(store, a_fleet(vms=(vm,)))
        with store.snapshot() as snapshot:
            assert snapshot.fleet().vms["web-0"] == vm

    def test_failed_snapshot_does_no_harm(self, store: Store) -> None:
        with pytest.raises(ValueError, match="no"), store.snapshot():
            raise ValueError("no")
        assert put(store, a_seen(1)) == 1

    def test_a_closed_store_cannot_be_written(self, store: Store) -> None:
        store.close()
        with pytest.raises(Unavailable), store.transaction():
            pass

    def test_a_closed_store_cannot_be_read(self, store: Store) -> None:
        store.close()
        with pytest.raises(Unavailable), store.snapshot():
            pass
        with pytest.raises(Unavailable):
            store.facts(0, 10)

    def test_a_store_can_be_closed_twice(self, store: Store) -> None:
        store.close()
        store.close()


def _write_everything_and_fail(store: Store, failure: BaseException) -> None:
    with store.transaction() as transaction:
        before = whole_state(transaction)
        transaction.save_observations({"web": NOON}, [a_sighting()], NOON)
        transaction.keep("clock", "one")
        transaction.keep_receipt(a_receipt(), forget_before=NOON)
        after = transitions.apply(before, started())
        transaction.save(before, Step(after, (started(),)), {"M0": NOON + MINUTE})
        assert transaction.position() == 4
        raise failure
