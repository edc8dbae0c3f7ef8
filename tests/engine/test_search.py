"""Journal search, page by page."""

from collections.abc import Callable

import pytest
from tests.engine.support.system import MINUTE, NOON, System, a_reboot

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.queries.search import Search, fold_names
from forewarn.engine.queries import (
    SearchPage,
    find_entries,
    find_newest_entries,
    resolve_ids,
)
from forewarn.errors import NotFound

SEARCHES = [
    Search(),
    Search(groups=fold_names(["web"])),
    Search(vms=fold_names(["db-1"])),
    Search(by=fold_names(["ops"])),
    Search(by=fold_names(["ops"]), kinds=frozenset({f.Started})),
    Search(kinds=frozenset({f.Announced, f.Completed})),
    Search(groups=fold_names(["lone"]), kinds=frozenset({f.Published})),
    Search(since=NOON + MINUTE, until=NOON + 16 * MINUTE),
    Search(since=NOON + 16 * MINUTE, groups=fold_names(["db"])),
    Search(groups=fold_names(["nobody"])),
]


@pytest.fixture
def past(system: System) -> System:
    """Return a service with half an hour of history in several groups."""
    for vm in ("web-0", "lone", "db-1"):
        system.announce(a_reboot(vm))
        system.advance.by(MINUTE)
    system.advance.by(30 * MINUTE)
    return system


def pages(
    ask: Callable[[int | None], SearchPage], after: int | None
) -> list[SearchPage]:
    """Request page after page until there are no more."""
    results = [ask(after)]
    while results[-1].has_more:
        assert len(results) < 1000
        results.append(ask(results[-1].position))
    return results


def forward(system: System, search: Search, limit: int, most: int) -> list[SearchPage]:
    with system.store.snapshot() as snapshot:
        return pages(
            lambda after: find_entries(
                snapshot, search, after=after or 0, limit=limit, max_reads=most
            ),
            0,
        )


def backward(system: System, search: Search, limit: int, most: int) -> list[SearchPage]:
    with system.store.snapshot() as snapshot:
        return pages(
            lambda before: find_newest_entries(
                snapshot, search, before=before, limit=limit, max_reads=most
            ),
            None,
        )


def joined_entries(found: list[SearchPage]) -> list[JournalEntry]:
    return [entry for page in found for entry in page.entries]


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 7), (1000, 2), (2, 1000)])
def test_all_pages_together_are_the_complete_result(
    past: System, search: Search, limit: int, most: int
) -> None:
    (whole,) = forward(past, search, 10_000, 10_000)
    results = forward(past, search, limit, most)
    assert joined_entries(results) == [*whole.entries]
    assert all(len(page.entries) <= limit for page in results)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 7), (1000, 2), (2, 1000)])
def test_newest_first_is_the_reverse(
    past: System, search: Search, limit: int, most: int
) -> None:
    (whole,) = forward(past, search, 10_000, 10_000)
    results = backward(past, search, limit, most)
    assert joined_entries(results) == [*whole.entries][::-1]


def test_a_search_finds_exactly_what_matches(past: System) -> None:
    (page,) = forward(past, Search(groups=fold_names(["lone"])), 100, 10_000)
    kinds = [type(entry.fact).__name__ for entry in page.entries]
    life = ["Announced", "Published", "Started", "Published", "WorkBegan"]
    life += ["WorkDone", "Completed", "Published"]
    assert kinds == ["FleetChanged", "FleetChanged", *life]


def test_a_page_that_read_enough_reports_its_position(past: System) -> None:
    with past.store.snapshot() as snapshot:
        nobody = Search(groups=fold_names(["nobody"]))
        page = find_entries(snapshot, nobody, after=0, limit=100, max_reads=5)
    assert (page.entries, page.position, page.has_more) == ((), 5, True)


def test_a_time_filter_skips_earlier_entries(past: System) -> None:
    with past.store.snapshot() as snapshot:
        late = Search(since=NOON + 16 * MINUTE)
        page = find_entries(snapshot, late, after=0, limit=1, max_reads=1)
    assert [entry.fact.at >= NOON + 16 * MINUTE for entry in page.entries] == [True]


def test_a_search_after_the_end_finds_nothing(past: System) -> None:
    with past.store.snapshot() as snapshot:
        page = find_entries(snapshot, Search(), after=10_000, limit=5)
    assert (page.entries, page.has_more) == ((), False)


def test_a_search_before_the_beginning_finds_nothing(past: System) -> None:
    with past.store.snapshot() as snapshot:
        page = find_newest_entries(snapshot, Search(), before=1, limit=5)
    assert (page.entries, page.has_more) == ((), False)


def test_a_group_search_includes_vms_that_left_it(past: System) -> None:
    before = past.store.facts(0, 1000)[-1].position
    past.fleets.remove_vm("db-1", by="ops")
    with past.store.snapshot() as snapshot:
        of_db = Search(groups=fold_names(["db"]), kinds=frozenset({f.FleetChanged}))
        of_web = Search(groups=fold_names(["web"]), kinds=frozenset({f.FleetChanged}))
        assert len(find_entries(snapshot, of_db, after=before, limit=9).entries) == 1
        assert len(find_entries(snapshot, of_web, after=before, limit=9).entries) == 0


def test_an_event_id_stands_for_its_maintenance(past: System) -> None:
    (maintenance, *_) = past.maintenances()
    with past.store.snapshot() as snapshot:
        named = Search(maintenances=frozenset({maintenance.events[0].id.lower()}))
        page = find_entries(snapshot, resolve_ids(snapshot, named), after=0, limit=100)
    assert len(page.entries) == 5
    assert {entry.fact.maintenance for entry in page.entries} == {maintenance.id}  # type: ignore[union-attr]  # those found have one


def test_an_unknown_maintenance_is_refused_by_name(past: System) -> None:
    with (
        past.store.snapshot() as snapshot,
        pytest.raises(NotFound, match="NOBODY"),
    ):
        resolve_ids(snapshot, Search(maintenances=frozenset({"NOBODY"})))
