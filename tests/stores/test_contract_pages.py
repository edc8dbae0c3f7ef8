"""Contract of every store: lists, read page by page."""

import pytest
from tests.stores.builders import (
    a_fleet,
    a_maintenance,
    announced,
    canceled,
    completed,
    put,
    started,
)

from forewarn.core.fleet import VM, Group, GroupKind, Host
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.ports import Store

#: In the order of a list: case-insensitive by letter, then by code point.
NAMES = ("a-b", "A.b", "a0", "A_b", "ab", "B", "c-10", "c-2")


class TestPages:
    """Lists are complete and in order, whatever the page size."""

    @pytest.mark.parametrize("limit", [1, 3, 100])
    def test_hosts_groups_and_vms_are_paged_by_name(
        self, store: Store, limit: int
    ) -> None:
        kind = GroupKind.SCALE_SET
        put(
            store,
            a_fleet(
                hosts=tuple(Host(name=name) for name in reversed(NAMES)),
                groups=tuple(Group(name=name, kind=kind) for name in reversed(NAMES)),
                vms=tuple(VM(name=name, group="ab") for name in reversed(NAMES)),
            ),
        )
        listed: dict[str, list[str]] = {"hosts": [], "groups": [], "vms": []}
        for noun, names in listed.items():
            after = ""
            while True:
                with store.snapshot() as snapshot:
                    page = getattr(snapshot, noun)(after=after, limit=limit)
                if not page:
                    break
                assert len(page) <= limit
                names += [item.name for item in page]
                after = page[-1].name
        assert listed == {noun: [*NAMES] for noun in ("hosts", "groups", "vms")}

    def test_maintenance_is_paged_without_duplicates(self, store: Store) -> None:
        names = [f"M{number}" for number in (3, 1, 4, 0, 2)]
        put(store, a_fleet(), *(announced(a_maintenance(name)) for name in names))
        assert _paged(store, limit=2) == names

    def test_maintenance_is_listed_by_phase(self, store: Store) -> None:
        names = [f"M{number}" for number in range(6)]
        put(store, a_fleet(), *(announced(a_maintenance(name)) for name in names))
        put(store, started("M1"), started("M3"), completed("M3"), canceled("M5"))
        assert _paged(store, Phase.SCHEDULED, limit=2) == ["M0", "M2", "M4"]
        assert _paged(store, Phase.COMPLETED, limit=2) == ["M3"]
        assert _paged(store, Phase.FAILED, limit=2) == []

    @pytest.mark.parametrize("limit", [1, 2, 3, 10])
    def test_several_phases_are_listed_in_one_order(
        self, store: Store, limit: int
    ) -> None:
        names = [f"M{number}" for number in range(5)]
        put(store, a_fleet(), *(announced(a_maintenance(name)) for name in names))
        put(store, started("M1"), canceled("M2"), canceled("M3"))
        listed = _paged(store, Phase.CANCELED, Phase.STARTED, limit=limit)
        assert listed == ["M1", "M2", "M3"]


def _paged(store: Store, *phases: Phase, limit: int) -> list[str]:
    listed: list[Maintenance] = []
    after = 0
    while True:
        with store.snapshot() as snapshot:
            page = snapshot.maintenances(phases=phases, after=after, limit=limit)
        assert len(page) <= limit
        if not page:
            return [maintenance.id for maintenance in listed]
        listed += [maintenance for _, maintenance in page]
        after = page[-1][0]
