"""Notification delivery to one target: start position, order and filters."""

import pytest
from tests.engine.support.notified import (
    RecordingNotifier,
    a_delivery,
    a_target,
    end_of,
    stored_setting,
)
from tests.engine.support.system import (
    HOUR,
    NOON,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core.lifecycle import facts as f
from forewarn.notifiers.targets import USUAL

# --- start position ----------------------------------------------------------


def test_a_new_target_starts_at_the_end_which_is_stored_immediately(
    system: System,
) -> None:
    system.announce(a_reboot("web-0"))
    notifier = RecordingNotifier()
    a_delivery(system.store, notifier).catch_up()
    assert notifier.delivered == []
    assert stored_setting(system.store) == str(end_of(system.store))


def test_new_facts_are_delivered_in_order(system: System) -> None:
    notifier, before = RecordingNotifier(), end_of(system.store)
    delivery = a_delivery(system.store, notifier)
    system.announce(an_emergency("web-0"))
    system.read_to_end()
    delivery.catch_up()
    assert notifier.positions == [*range(before + 1, end_of(system.store) + 1)]
    assert notifier.names[0] == "Announced"


def test_more_than_one_batch_is_delivered(system: System) -> None:
    notifier, before = RecordingNotifier(), end_of(system.store)
    delivery = a_delivery(system.store, notifier)
    for _ in range(60):
        maintenance = system.announce(a_reboot("web-0", minutes=60))
        system.engine.cancel(maintenance.id, by="ops")
    assert end_of(system.store) - before > 200
    delivery.catch_up()
    assert notifier.positions == [*range(before + 1, end_of(system.store) + 1)]


def test_after_a_restart_it_continues_where_it_was(system: System) -> None:
    first = a_delivery(system.store, RecordingNotifier())
    system.announce(a_reboot("web-0"))
    first.catch_up()
    first.keep()
    behind = end_of(system.store)
    system.announce(a_reboot("db-0"))
    notifier = RecordingNotifier()
    a_delivery(system.store, notifier).catch_up()
    assert notifier.positions == [*range(behind + 1, end_of(system.store) + 1)]


def test_a_target_is_identified_by_name_in_any_case(system: System) -> None:
    a_delivery(system.store, RecordingNotifier())
    system.announce(a_reboot("web-0"))
    notifier = RecordingNotifier()
    a_delivery(system.store, notifier, target=a_target("OPS")).catch_up()
    assert notifier.delivered != []


def test_after_restoring_a_shorter_journal_new_facts_are_delivered(
    system: System, caplog: pytest.LogCaptureFixture
) -> None:
    with system.store.transaction() as transaction:
        transaction.keep("notify:ops", "1000000")
    notifier = RecordingNotifier()
    delivery = a_delivery(system.store, notifier)
    assert "possibly because a backup was restored" in caplog.text
    system.announce(a_reboot("web-0"))
    delivery.catch_up()
    assert notifier.delivered != []


def test_the_longest_name_can_be_stored(system: System) -> None:
    name = "x" * 50
    a_delivery(system.store, RecordingNotifier(), target=a_target(name))
    assert stored_setting(system.store, f"notify:{name}") is not None
    assert len(f"notify:{name}") <= 64  # the width of the column


# --- contents and filters ----------------------------------------------------


def test_a_notice_has_the_current_state_of_the_maintenance(system: System) -> None:
    notifier = RecordingNotifier()
    delivery = a_delivery(system.store, notifier)
    maintenance = system.announce(a_reboot("web-0"))
    system.engine.cancel(maintenance.id, by="ops")
    delivery.catch_up()
    first = notifier.delivered[0]
    assert isinstance(first.fact, f.Announced)
    assert first.maintenance == system.maintenance(maintenance.id)


def test_a_notice_lists_who_has_seen_the_events(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    sight = f.Sight(event=maintenance.events[0].id, vm="web-1", at=NOON)
    with system.store.transaction() as transaction:
        transaction.save_observations({}, [sight], NOON)
    notifier = RecordingNotifier()
    delivery = a_delivery(system.store, notifier)
    system.engine.cancel(maintenance.id, by="ops")
    delivery.catch_up()
    assert notifier.delivered[0].sights == (sight,)


def test_only_selected_facts_are_delivered(system: System) -> None:
    notifier = RecordingNotifier()
    target = a_target(facts=frozenset({"Started"}))
    delivery = a_delivery(system.store, notifier, target=target)
    system.announce(an_emergency("web-0"))
    delivery.catch_up()
    assert notifier.names == ["Started"]
    assert delivery.progress.position == end_of(system.store)


def test_the_usual_facts_cover_the_lifecycle_and_nothing_else(system: System) -> None:
    notifier = RecordingNotifier()
    delivery = a_delivery(system.store, notifier, target=a_target(facts=USUAL))
    system.engine.listen(["web"])
    system.announce(a_reboot("web-0"))
    system.advance.by(HOUR)
    delivery.catch_up()
    assert notifier.names == ["Announced", "Started", "Completed"]


@pytest.mark.parametrize(
    ("group", "names"),
    [("web", ["Announced", "Announced"]), ("db", ["Announced"]), ("lone", [])],
)
def test_only_selected_groups_are_delivered(
    system: System, group: str, names: list[str]
) -> None:
    notifier = RecordingNotifier()
    target = a_target(facts=frozenset({"Announced"}), groups=frozenset({group}))
    delivery = a_delivery(system.store, notifier, target=target)
    system.announce(a_reboot("web-2"))
    system.announce(a_reboot(host="host-a"))
    delivery.catch_up()
    assert notifier.names == names


def test_a_fact_without_maintenance_is_filtered_by_its_own_group(
    system: System,
) -> None:
    ears = {group: RecordingNotifier() for group in ("web", "db")}
    deliveries = [
        a_delivery(
            system.store, notifier, target=a_target(group, groups=frozenset({group}))
        )
        for group, notifier in ears.items()
    ]
    system.engine.listen(["web"])
    for delivery in deliveries:
        delivery.catch_up()
    assert "Enabled" in ears["web"].names
    assert ears["db"].names == []


def test_a_fact_without_a_group_is_delivered_to_all(
    open_store: OpenStore,
) -> None:
    store, notifier = open_store(), RecordingNotifier()
    system = a_system(store)
    delivery = a_delivery(store, notifier, target=a_target(groups=frozenset({"web"})))
    system.engine.beat()
    a_system(store, at=NOON + HOUR, fleet=None).engine.beat()
    delivery.catch_up()
    assert notifier.names == ["OutageEnded"]
