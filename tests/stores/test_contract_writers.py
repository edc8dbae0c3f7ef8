"""Contract of every store: concurrent threads."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread

from tests.patience import PATIENCE
from tests.stores.builders import (
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    put,
    whole_state,
)

from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.ports import Snapshot, Store

WRITERS = 6
ROUNDS = 20
A_MOMENT = 0.2  # seconds; in memory a writer waits for readers, in a file it does not
LONG = PATIENCE


def all_at_once(work: Callable[[int], object]) -> None:
    """Start `work` in `WRITERS` threads at the same time and wait for all of them."""
    barrier = Barrier(WRITERS)

    def run(number: int) -> None:
        barrier.wait(LONG)
        work(number)

    with ThreadPoolExecutor(WRITERS) as pool:
        for done in [pool.submit(run, number) for number in range(WRITERS)]:
            done.result(LONG)


def count(snapshot: Snapshot, name: str) -> int:
    return int(snapshot.setting(name) or 0)


class TestWriters:
    """Writers run one after the other."""

    def test_no_increment_of_concurrent_writers_is_lost(self, store: Store) -> None:
        def increment(_: int) -> None:
            for _ in range(ROUNDS):
                with store.transaction() as transaction:
                    transaction.keep("n", str(count(transaction, "n") + 1))

        all_at_once(increment)
        with store.snapshot() as snapshot:
            assert count(snapshot, "n") == WRITERS * ROUNDS

    def test_journal_of_concurrent_writers_is_complete_and_without_gaps(
        self, store: Store
    ) -> None:
        all_at_once(
            lambda writer: [
                put(store, a_seen(1000 * writer + 2 * n), a_seen(1000 * writer + n))
                for n in range(ROUNDS)
            ]
        )
        entries = store.facts(0, 10_000)
        written = Counter(
            a_seen(1000 * writer + number)
            for writer in range(WRITERS)
            for n in range(ROUNDS)
            for number in (2 * n, n)
        )
        assert [entry.position for entry in entries] == [*range(1, len(entries) + 1)]
        assert Counter(entry.fact for entry in entries) == written

    def test_facts_of_one_transaction_are_consecutive(self, store: Store) -> None:
        def write(writer: int) -> None:
            for _ in range(ROUNDS):
                put(store, a_seen(writer), a_seen(writer), a_seen(writer))

        all_at_once(write)
        facts = [entry.fact for entry in store.facts(0, 10_000)]
        assert all(len(set(facts[at : at + 3])) == 1 for at in range(0, len(facts), 3))

    def test_every_writer_gets_its_own_position(self, store: Store) -> None:
        positions: list[int] = []
        all_at_once(
            lambda writer: positions.extend(
                [put(store, a_seen(writer)) for _ in range(ROUNDS)]
            )
        )
        assert sorted(positions) == [*range(1, WRITERS * ROUNDS + 1)]

    def test_no_maintenance_of_concurrent_writers_is_lost(self, store: Store) -> None:
        put(store, a_fleet())
        all_at_once(
            lambda writer: [
                put(store, announced(a_maintenance(f"M{5 * writer + n}")))
                for n in range(5)
            ]
        )
        with store.snapshot() as snapshot:
            listed = snapshot.maintenances(phases=[], after=0, limit=1000)
            live = snapshot.slice(["web"]).maintenances
        assert len(listed) == len(live) == WRITERS * 5
        assert [maintenance.id for _, maintenance in listed] == [*live]

    def test_failed_writers_leave_no_gaps(self, store: Store) -> None:
        def write(writer: int) -> None:
            for number in range(ROUNDS):
                try:
                    with store.transaction() as transaction:
                        fact = a_seen(1000 * writer + number)
                        transaction.save(Slice(), Step(Slice(), (fact,)), {})
                        if writer % 2:
                            raise LookupError("no")
                except LookupError:
                    pass

        all_at_once(write)
        positions = [entry.position for entry in store.facts(0, 10_000)]
        assert positions == [*range(1, WRITERS // 2 * ROUNDS + 1)]


class TestReaders:
    """A reader sees one consistent state, whatever writers do."""

    def test_snapshot_does_not_change_while_others_write(self, store: Store) -> None:
        put(store, a_fleet())
        written = Event()

        def write() -> None:
            put(store, announced(a_maintenance()))
            written.set()

        writer = Thread(target=write)
        with store.snapshot() as snapshot:
            writer.start()
            written.wait(A_MOMENT)
            assert snapshot.position() == 1
            assert not snapshot.slice(None).maintenances
            assert snapshot.maintenance("M0") is None
            assert snapshot.maintenances(phases=[], after=0, limit=9) == []
        writer.join(LONG)
        with store.snapshot() as snapshot:
            assert snapshot.position() == 2

    def test_uncommitted_changes_are_invisible_to_readers(self, store: Store) -> None:
        put(store, a_fleet())
        seen: list[tuple[int, int]] = []
        is_read = Event()

        def read() -> None:
            with store.snapshot() as snapshot:
                seen.append((snapshot.position(), len(whole_state(snapshot).vms)))
            is_read.set()

        reader = Thread(target=read)
        with store.transaction() as transaction:
            before = whole_state(transaction)
            transaction.save(before, Step(Slice(), (a_seen(1),)), {})
            reader.start()
            is_read.wait(A_MOMENT)
        reader.join(LONG)
        assert seen in ([(1, 3)], [(2, 0)])  # all before or, in memory, all after

    def test_readers_never_see_half_of_a_transaction(self, store: Store) -> None:
        over = Event()
        seen: list[tuple[int, int, int]] = []

        def read() -> None:
            while not over.is_set():
                with store.snapshot() as snapshot:
                    seen.append(
                        (
                            snapshot.position(),
                            count(snapshot, "one"),
                            count(snapshot, "other"),
                        )
                    )

        readers = [Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        for number in range(1, 101):
            with store.transaction() as transaction:
                transaction.keep("one", str(number))
                transaction.save(Slice(), Step(Slice(), (a_seen(number),)), {})
                transaction.keep("other", str(number))
        over.set()
        for reader in readers:
            reader.join(LONG)
        assert {len(set(state)) for state in seen} == {1}

    def test_reader_sees_everything_committed_before_it_started(
        self, store: Store
    ) -> None:
        def write_and_read(writer: int) -> None:
            for _ in range(ROUNDS):
                position = put(store, a_seen(writer))
                with store.snapshot() as snapshot:
                    assert snapshot.position() >= position

        all_at_once(write_and_read)
