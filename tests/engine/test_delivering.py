"""One target is told: from where it begins, in order, and only what it wants."""

import pytest
from tests.engine.ears import Ear, a_delivery, a_target, end_of, kept
from tests.engine.system import (
    HOUR,
    NOON,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core import facts as f
from forewarn.notifiers.targets import USUAL

# --- where it begins ---------------------------------------------------------


def test_a_new_target_begins_at_the_end_and_that_is_kept_at_once(
    system: System,
) -> None:
    system.announce(a_reboot("web-0"))
    ear = Ear()
    a_delivery(system.store, ear).catch_up()
    assert ear.told == []
    assert kept(system.store) == str(end_of(system.store))


def test_what_happens_then_is_told_in_order(system: System) -> None:
    ear, before = Ear(), end_of(system.store)
    delivery = a_delivery(system.store, ear)
    system.announce(an_emergency("web-0"))
    system.read_to_end()
    delivery.catch_up()
    assert ear.positions == [*range(before + 1, end_of(system.store) + 1)]
    assert ear.names[0] == "Announced"


def test_more_than_one_batch_is_told(system: System) -> None:
    ear, before = Ear(), end_of(system.store)
    delivery = a_delivery(system.store, ear)
    for _ in range(60):
        made = system.announce(a_reboot("web-0", minutes=60))
        system.engine.cancel(made.id, by="ops")
    assert end_of(system.store) - before > 200
    delivery.catch_up()
    assert ear.positions == [*range(before + 1, end_of(system.store) + 1)]


def test_after_a_restart_it_goes_on_where_it_was(system: System) -> None:
    first = a_delivery(system.store, Ear())
    system.announce(a_reboot("web-0"))
    first.catch_up()
    first.keep()
    behind = end_of(system.store)
    system.announce(a_reboot("db-0"))
    ear = Ear()
    a_delivery(system.store, ear).catch_up()
    assert ear.positions == [*range(behind + 1, end_of(system.store) + 1)]


def test_a_target_is_known_by_its_name_in_any_case(system: System) -> None:
    a_delivery(system.store, Ear())
    system.announce(a_reboot("web-0"))
    ear = Ear()
    a_delivery(system.store, ear, target=a_target("OPS")).catch_up()
    assert ear.told != []


def test_where_the_journal_is_shorter_than_that_what_is_new_is_told(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    with system.store.transaction() as transaction:
        transaction.keep("notify:ops", "1000000")
    ear = Ear()
    delivery = a_delivery(system.store, ear)
    assert "as that of a restored backup does" in caplog.text
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    assert ear.told != []


def test_the_longest_name_can_be_kept(system: System) -> None:
    name = "x" * 50
    a_delivery(system.store, Ear(), target=a_target(name))
    assert kept(system.store, f"notify:{name}") is not None
    assert len(f"notify:{name}") <= 64  # as wide as the column


# --- what is told ------------------------------------------------------------


def test_a_notice_has_the_maintenance_as_it_is_now(system: System) -> None:
    ear = Ear()
    delivery = a_delivery(system.store, ear)
    made = system.announce(a_reboot("web-0"))
    system.engine.cancel(made.id, by="ops")
    delivery.catch_up()
    first = ear.told[0]
    assert isinstance(first.fact, f.Announced)
    assert first.maintenance == system.maintenance(made.id)


def test_a_notice_says_who_has_seen_the_events(system: System) -> None:
    made = system.announce(a_reboot("web-0"))
    sight = f.Sight(event=made.events[0].id, vm="web-1", at=NOON)
    with system.store.transaction() as transaction:
        transaction.note({}, [sight], NOON)
    ear = Ear()
    delivery = a_delivery(system.store, ear)
    system.engine.cancel(made.id, by="ops")
    delivery.catch_up()
    assert ear.told[0].sights == (sight,)


def test_only_facts_that_are_wanted_are_told(system: System) -> None:
    ear = Ear()
    target = a_target(facts=frozenset({"Started"}))
    delivery = a_delivery(system.store, ear, target=target)
    system.announce(an_emergency("web-0"))
    delivery.catch_up()
    assert ear.names == ["Started"]
    assert delivery.progress.position == end_of(system.store)


def test_the_usual_facts_tell_a_life_and_no_more(system: System) -> None:
    ear = Ear()
    delivery = a_delivery(system.store, ear, target=a_target(facts=USUAL))
    system.engine.listen(["web"])
    system.announce(a_reboot("web-0"))
    system.advance.by(HOUR)
    delivery.catch_up()
    assert ear.names == ["Announced", "Started", "Completed"]


@pytest.mark.parametrize(
    ("group", "names"),
    [("web", ["Announced", "Announced"]), ("db", ["Announced"]), ("lone", [])],
)
def test_only_groups_that_are_wanted_are_told(
    system: System, group: str, names: list[str]
) -> None:
    ear = Ear()
    target = a_target(facts=frozenset({"Announced"}), groups=frozenset({group}))
    delivery = a_delivery(system.store, ear, target=target)
    system.announce(a_reboot("web-2"))
    system.announce(a_reboot(host="host-a"))
    delivery.catch_up()
    assert ear.names == names


def test_what_is_about_no_maintenance_goes_by_its_own_group(system: System) -> None:
    ears = {group: Ear() for group in ("web", "db")}
    deliveries = [
        a_delivery(system.store, ear, target=a_target(group, groups=frozenset({group})))
        for group, ear in ears.items()
    ]
    system.engine.listen(["web"])
    for each in deliveries:
        each.catch_up()
    assert "ListeningBegan" in ears["web"].names
    assert ears["db"].names == []


def test_what_is_about_nobody_in_particular_is_told_to_all(
    open_store: OpenStore,
) -> None:
    store, ear = open_store(), Ear()
    system = a_system(store)
    delivery = a_delivery(store, ear, target=a_target(groups=frozenset({"web"})))
    system.engine.beat()
    a_system(store, at=NOON + HOUR, fleet=None).engine.beat()
    delivery.catch_up()
    assert ear.names == ["OutageEnded"]
