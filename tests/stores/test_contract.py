"""Contract of every store, whatever the database behind it.

The fixture `open_store` runs each test here and in the modules `test_contract_...` with
SQLite in a file, SQLite in memory, and PostgreSQL.
"""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.core.test_serialization import FACTS
from tests.postgres import PostgresServer
from tests.stores.builders import (
    DB,
    MINUTE,
    NOON,
    WEB,
    OpenStore,
    a_fleet,
    a_maintenance,
    a_seen,
    announced,
    canceled,
    completed,
    opened,
    postgres_store,
    put,
    started,
    whole_state,
)

from forewarn.core.fleet import VM, Audience, Fleet, Group, GroupKind, Host
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Phase, Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.ports import Store
from forewarn.stores import statements as sql
from forewarn.stores.postgres import Postgres


def test_two_stores_are_independent(open_store: OpenStore) -> None:
    first, second = open_store(), open_store()
    put(first, a_seen(1))
    assert second.facts(0, 10) == []


def test_probe_leaves_no_trace(store: Store) -> None:
    put(store, a_fleet(), announced(a_maintenance()))
    with store.snapshot() as snapshot:
        before = (whole_state(snapshot), snapshot.position(), snapshot.tokens())
    with store.transaction() as transaction:
        transaction.probe()
        transaction.probe()
    with store.snapshot() as snapshot:
        assert (
            whole_state(snapshot),
            snapshot.position(),
            snapshot.tokens(),
        ) == before
        assert snapshot.maintenance(" ") is None


class TestJournal:
    """The journal: facts in their order."""

    def test_a_new_store_is_empty(self, store: Store) -> None:
        with store.snapshot() as snapshot:
            assert snapshot.position() == 0
            assert snapshot.last_at() is None
            assert snapshot.fleet() == Fleet()
            assert snapshot.slice(None) == Slice()
            assert snapshot.next_moment() is None
        assert store.facts(0, 10) == []

    def test_every_kind_of_fact_is_read_back_unchanged(self, store: Store) -> None:
        with store.transaction() as transaction:
            transaction.save(Slice(), Step(Slice(), FACTS), {})
        assert tuple(entry.fact for entry in store.facts(0, 100)) == FACTS

    def test_positions_have_no_gaps(self, store: Store) -> None:
        assert put(store, a_seen(1), a_seen(2)) == 2
        assert put(store, a_seen(3)) == 3
        assert [entry.position for entry in store.facts(0, 10)] == [1, 2, 3]

    def test_a_step_without_facts_leaves_the_position_alone(self, store: Store) -> None:
        put(store, a_seen(1))
        assert put(store) == 1

    def test_two_saves_of_one_transaction_are_consecutive(self, store: Store) -> None:
        with store.transaction() as transaction:
            assert transaction.save(Slice(), Step(Slice(), (a_seen(1),)), {}) == 1
            assert transaction.save(Slice(), Step(Slice(), (a_seen(2),)), {}) == 2
            assert transaction.position() == 2
        assert [entry.fact for entry in store.facts(0, 10)] == [a_seen(1), a_seen(2)]

    def test_journal_can_be_read_from_any_position(self, store: Store) -> None:
        put(store, *(a_seen(number) for number in range(1, 6)))
        assert [entry.fact for entry in store.facts(3, 10)] == [a_seen(4), a_seen(5)]
        assert store.facts(5, 10) == []

    def test_no_more_facts_are_read_than_requested(self, store: Store) -> None:
        put(store, *(a_seen(number) for number in range(1, 6)))
        assert [entry.position for entry in store.facts(1, 2)] == [2, 3]

    def test_last_time_is_that_of_the_latest_fact(self, store: Store) -> None:
        put(store, a_seen(1, at=NOON + MINUTE))
        put(store, a_seen(2, at=NOON))
        with store.snapshot() as snapshot:
            assert snapshot.last_at() == NOON + MINUTE

    def test_snapshot_has_the_position_at_its_start(self, store: Store) -> None:
        put(store, a_seen(1), a_seen(2))
        with store.snapshot() as snapshot:
            assert snapshot.position() == 2


class TestState:
    """The fleet and its slices."""

    def test_fleet_keeps_its_order(self, store: Store) -> None:
        vms = tuple(
            VM(name=name, group="web", tags={"a": "ä"}, update_domain=0, zone="1")
            for name in ("web-10", "web-9", "web-1")
        )
        put(store, a_fleet(vms=vms))
        with store.snapshot() as snapshot:
            fleet = snapshot.fleet()
        assert [*fleet.hosts] == ["host-a", "host-b"]
        assert [*fleet.groups.values()] == [WEB, DB]
        assert [*fleet.vms.values()] == [*vms]

    def test_changed_vm_keeps_its_place(self, store: Store) -> None:
        put(store, a_fleet())
        put(store, a_fleet(hosts=(), groups=(), vms=(VM(name="web-0", group="web"),)))
        with store.snapshot() as snapshot:
            vms = snapshot.fleet().vms
        assert [*vms] == ["web-0", "web-1", "db-0"]
        assert vms["web-0"].host is None

    def test_removed_resources_are_gone(self, store: Store) -> None:
        put(store, a_fleet())
        put(
            store,
            f.FleetChanged(
                at=NOON,
                by="ops",
                epoch="e1",
                removed_hosts=("host-b",),
                removed_groups=("web",),
                removed_vms=("web-0", "web-1"),
            ),
        )
        with store.snapshot() as snapshot:
            fleet, slice_ = snapshot.fleet(), snapshot.slice(None)
            assert not snapshot.part_of_fleet(addresses=["10.0.0.1"]).vms
        assert ([*fleet.hosts], [*fleet.groups]) == (["host-a"], ["db"])
        assert [*fleet.vms] == ["db-0"]
        assert [*slice_.audiences] == ["db"]

    def test_two_vms_can_swap_addresses(self, store: Store) -> None:
        first, second = (
            VM(name=n, group="web", addresses=(f"10.0.0.{n}",)) for n in "12"
        )
        put(store, a_fleet(vms=(first, second)))
        swapped = (
            replace(first, addresses=second.addresses),
            replace(second, addresses=first.addresses),
        )
        put(store, a_fleet(hosts=(), groups=(), vms=swapped))
        with store.snapshot() as snapshot:
            assert [*snapshot.part_of_fleet(addresses=["10.0.0.1"]).vms] == ["2"]

    def test_audience_is_read_back_unchanged(self, store: Store) -> None:
        isolated = Group(name="web", kind=GroupKind.SCALE_SET, isolated=True)
        put(store, a_fleet(groups=(isolated, DB)))
        put(
            store,
            f.Published(
                at=NOON, audience="web/web-1", group="web", epoch="e7", incarnation=3
            ),
        )
        with store.snapshot() as snapshot:
            audiences = snapshot.slice(["web"]).audiences
        assert audiences["web/web-1"] == Audience(
            name="web/web-1", group="web", vm="web-1", epoch="e7", incarnation=3
        )
        assert sorted(audiences) == ["web/web-0", "web/web-1"]

    def test_time_of_enabling_a_group_is_kept(self, store: Store) -> None:
        put(store, a_fleet(), f.Enabled(at=NOON, group="web", epoch="e1"))
        with store.snapshot() as snapshot:
            web = snapshot.slice(["web"]).groups["web"]
        assert (web.enabled_since, web.last_request) == (NOON, NOON)

    def test_slice_has_only_its_groups(self, store: Store) -> None:
        put(
            store,
            a_fleet(),
            announced(a_maintenance("M0", groups=("web",))),
            announced(a_maintenance("M1", groups=("db",))),
            announced(a_maintenance("M2", groups=("web", "db"))),
        )
        with store.snapshot() as snapshot:
            slice_ = snapshot.slice(["web"])
        assert [*slice_.groups] == ["web"]
        assert [*slice_.audiences] == ["web"]
        assert [*slice_.maintenances] == ["M0", "M2"]

    def test_slice_has_shared_maintenance_once_and_in_order(self, store: Store) -> None:
        put(
            store,
            a_fleet(),
            announced(a_maintenance("M9", groups=("db",))),
            announced(a_maintenance("M1", groups=("web", "db"))),
            announced(a_maintenance("M5", groups=("web",))),
        )
        with store.snapshot() as snapshot:
            assert [*snapshot.slice(["web", "db"]).maintenances] == ["M9", "M1", "M5"]
            assert [*snapshot.slice(None).maintenances] == ["M9", "M1", "M5"]

    @pytest.mark.parametrize(
        "life",
        [(canceled(),), (started(), completed())],
        ids=["canceled", "completed"],
    )
    def test_slice_omits_finished_maintenance(
        self, store: Store, life: tuple[f.Fact, ...]
    ) -> None:
        put(store, a_fleet(), announced(a_maintenance()))
        put(store, *life)
        with store.snapshot() as snapshot:
            assert not snapshot.slice(["web"]).maintenances
            assert not snapshot.slice(None).maintenances

    def test_a_slice_of_no_groups_is_empty(self, store: Store) -> None:
        put(store, a_fleet(), announced(a_maintenance()))
        with store.snapshot() as snapshot:
            assert snapshot.slice([]) == Slice()

    def test_changed_maintenance_is_read_back(self, store: Store) -> None:
        put(store, a_fleet(), announced(a_maintenance()))
        put(store, started(at=NOON + MINUTE))
        with store.snapshot() as snapshot:
            maintenance = snapshot.maintenance("M0")
        assert maintenance == replace(
            a_maintenance(), phase=Phase.STARTED, started_at=NOON + MINUTE
        )

    def test_maintenance_is_found_by_its_id_or_an_event_id(self, store: Store) -> None:
        both = a_maintenance(groups=("web", "db"))
        put(store, a_fleet(), announced(both), canceled())
        with store.snapshot() as snapshot:
            results = [snapshot.maintenance(item) for item in ("M0", "M0-web", "M0-db")]
            assert snapshot.maintenance("M1") is None
        assert [item.id if item else None for item in results] == ["M0"] * 3

    def test_maintenance_is_found_by_its_number(self, store: Store) -> None:
        put(store, a_fleet(), *map(announced, map(a_maintenance, ("M0", "M6"))))
        with store.snapshot() as snapshot:
            results = [snapshot.maintenance_number(number) for number in (1, 7, 2, 0)]
        assert [item and item.id for item in results] == ["M0", "M6", None, None]

    def test_maintenance_is_found_by_a_prefix_of_an_id(self, store: Store) -> None:
        put(store, a_fleet(), *map(announced, map(a_maintenance, ("M12", "M2", "M1"))))
        put(
            store, announced(a_maintenance("M10", groups=("web", "db"))), canceled("M1")
        )
        put(store, announced(a_maintenance("M19")))
        with store.snapshot() as snapshot:
            results = {
                prefix: [item.id for item in snapshot.maintenances_like(prefix)]
                for prefix in ("M1", "M10", "M10-", "M10-d", "M2-web", "M3", "m1", "12")
            }
        assert results == {
            "M1": ["M12", "M1", "M10"],  # at most three, in order of announcement
            **{prefix: ["M10"] for prefix in ("M10", "M10-", "M10-d")},
            "M2-web": ["M2"],
            **{prefix: [] for prefix in ("M3", "m1", "12")},
        }

    def test_maintenance_of_a_group_is_found_by_the_beginning_of_an_id(
        self, store: Store
    ) -> None:
        put(store, a_fleet(), *map(announced, map(a_maintenance, ("M1", "M2", "M3"))))
        put(store, announced(a_maintenance("M4", groups=("db",))))
        with store.snapshot() as snapshot:
            results = {
                group: [item.id for item in snapshot.maintenances_like("M", group)]
                for group in ("web", "db", "lone")
            }
        assert results == {"web": ["M1", "M2", "M3"], "db": ["M4"], "lone": []}

    def test_labels_of_any_number_of_maintenance_ids_are_found(
        self, store: Store
    ) -> None:
        names = [f"M{number}" for number in range(250)]
        put(store, a_fleet(), *map(announced, map(a_maintenance, names)))
        with store.snapshot() as snapshot:
            assert snapshot.labels(*names, "M250", "M0-web") == {
                name: f"m-{number}" for number, name in enumerate(names, 1)
            }
            assert snapshot.labels() == {}

    def test_maintenance_of_several_events_is_found(self, store: Store) -> None:
        both = a_maintenance(groups=("web", "db"))
        other = a_maintenance("M1", groups=("web",))
        put(store, a_fleet(), announced(both), announced(other), canceled())
        with store.snapshot() as snapshot:
            for names in (["M0-db"], ["M1-web", "M0-db", "none", "M0-web"]):
                found = snapshot.maintenances_of(*names)
                assert {event: item.id for event, item in found.items()} == {
                    name: name[:2] for name in names if name != "none"
                }
            assert snapshot.maintenances_of() == {}
            assert snapshot.maintenances_of("M0") == {}  # not the id of an event

    def test_related_resources_are_found_by_name_in_any_case(
        self, store: Store
    ) -> None:
        put(store, a_fleet())
        with store.snapshot() as snapshot:
            vm = snapshot.part_of_fleet(vms=["WEB-0"])
            group = snapshot.part_of_fleet(groups=["Web"])
            host = snapshot.part_of_fleet(hosts=["HOST-A"])
            address = snapshot.part_of_fleet(addresses=["10.0.0.1"])
        assert _names(vm) == ({"web-0"}, {"web"}, {"host-a"})
        assert _names(group) == ({"web-0", "web-1"}, {"web"}, {"host-a", "host-b"})
        assert _names(host) == ({"web-0", "db-0"}, {"web", "db"}, {"host-a"})
        assert _names(address) == ({"web-0"}, {"web"}, {"host-a"})

    def test_empty_group_or_host_is_found(self, store: Store) -> None:
        put(store, a_fleet(vms=()))
        with store.snapshot() as snapshot:
            part = snapshot.part_of_fleet(groups=["web"], hosts=["host-a"])
        assert part == Fleet(groups={"web": WEB}, hosts={"host-a": Host(name="host-a")})

    def test_unknown_names_are_not_found(self, store: Store) -> None:
        put(store, a_fleet())
        with store.snapshot() as snapshot:
            assert Fleet() == snapshot.part_of_fleet(
                vms=["web"], groups=["web-0"], hosts=["db"], addresses=["10.0.0.9"]
            )


class TestTime:
    """Timers: what the passing of time alone changes."""

    def test_the_next_moment_is_the_earliest(self, store: Store) -> None:
        put(
            store,
            a_fleet(),
            *(announced(a_maintenance(name)) for name in ("M0", "M1", "M2")),
            moments={"M0": NOON + 2 * MINUTE, "M1": NOON + MINUTE, "M2": None},
        )
        with store.snapshot() as snapshot:
            assert snapshot.next_moment() == NOON + MINUTE

    def test_due_maintenance_is_ordered_by_moment_then_announcement(
        self, store: Store
    ) -> None:
        names = ("M3", "M2", "M1", "M0")
        moments = (NOON + MINUTE, NOON, NOON + MINUTE, NOON - MINUTE)
        put(
            store,
            a_fleet(),
            *(announced(a_maintenance(name)) for name in names),
            moments=dict(zip(names, moments, strict=True)),
        )
        with store.snapshot() as snapshot:
            due = snapshot.due(NOON + MINUTE)
        assert [maintenance.id for maintenance in due] == ["M0", "M2", "M3", "M1"]

    def test_moment_is_due_at_its_time_and_not_before(self, store: Store) -> None:
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        with store.snapshot() as snapshot:
            assert not snapshot.due(NOON - timedelta(microseconds=1))
            assert [maintenance.id for maintenance in snapshot.due(NOON)] == ["M0"]

    def test_moment_can_change_while_the_maintenance_does_not(
        self, store: Store
    ) -> None:
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        put(store, moments={"M0": NOON + MINUTE})
        with store.snapshot() as snapshot:
            assert snapshot.next_moment() == NOON + MINUTE
            assert not snapshot.due(NOON)

    def test_last_moment_of_a_transaction_counts(self, store: Store) -> None:
        put(store, a_fleet(), announced(a_maintenance()), moments={"M0": NOON})
        with store.transaction() as transaction:
            slice_ = transaction.slice(["web"])
            for moment in (NOON + MINUTE, NOON):
                transaction.save(slice_, Step(slice_), {"M0": moment})
        with store.snapshot() as snapshot:
            assert snapshot.next_moment() == NOON


def test_postgresql_searches_ids_with_indexes(postgres: PostgresServer) -> None:
    schema = postgres.new_schema()
    query = sql.MAINTENANCES_LIKE.params({"from": "AB", "to": "AB~"}).compile(
        dialect=Postgres(postgres.url()).dialect, compile_kwargs={"literal_binds": True}
    )
    with opened(postgres_store(postgres.url(schema=schema))):
        plan = postgres.run(
            f"SET search_path = {schema}",
            "SET enable_seqscan = off",
            f"EXPLAIN {query}",
        )
    assert "Index Cond" in str(plan)
    assert "Filter" not in str(plan), plan  # it would read every row


def _names(fleet: Fleet) -> tuple[set[str], set[str], set[str]]:
    return set(fleet.vms), set(fleet.groups), set(fleet.hosts)
