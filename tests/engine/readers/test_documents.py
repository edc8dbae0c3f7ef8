"""Document reader: keeps all documents current, from any journal position."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    DocumentSink,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core.fleet import VM, Group, GroupKind
from forewarn.engine.readers.documents import Documents, DocumentUpdate
from forewarn.protocol.types import EventStatus

ISO = Group(name="iso", kind=GroupKind.SCALE_SET, isolated=True)


def a_second_plane(system: System) -> tuple[DocumentSink, Documents]:
    """Return another reader of the same journal, opened now."""
    plane = DocumentSink()
    documents = Documents(system.store, plane.hand_over)
    documents.open()
    return plane, documents


def names(update: DocumentUpdate) -> set[str]:
    return {shown.audience.name for shown in update.shown}


def test_opening_hands_over_the_whole_state(system: System) -> None:
    maintenance = system.announce(a_reboot(host="host-a"))
    plane, documents = a_second_plane(system)
    assert len(plane.updates) == 1
    assert set(plane.vms) == set(system.fleet().vms)
    assert plane.seen_by_all() == system.plane.seen_by_all()
    assert documents.position == len(system.journal())
    assert {event.id for event in maintenance.events} == {
        plane.document(vm).events[0].id for vm in ("web-0", "db-0")
    }


def test_an_empty_store_has_nothing_to_show(open_store: OpenStore) -> None:
    system = a_system(open_store(), fleet=None)
    assert system.plane.updates == [DocumentUpdate(position=0, shown=[], placed=[])]


def test_catching_up_without_new_facts_hands_nothing_over(system: System) -> None:
    before = len(system.plane.updates)
    system.documents.catch_up()
    system.documents.catch_up(system.documents.position)
    assert len(system.plane.updates) == before


@pytest.mark.parametrize("steps", range(7))
def test_a_reader_catches_up_from_any_position(system: System, steps: int) -> None:
    story: list[Callable[[], object]] = [
        lambda: system.announce(a_reboot("web-0")),
        lambda: system.engine.listen(["web"]),
        lambda: system.announce(a_reboot("iso-0")),
        lambda: system.fleets.put_vm(VM(name="new", group="new"), by="ops"),
        lambda: system.fleets.remove_vm("lone", by="ops"),
        lambda: system.advance.by(HOUR),
    ]
    for happen in story[:steps]:
        happen()
    plane, documents = a_second_plane(system)
    for happen in story[steps:]:
        happen()
    documents.catch_up()
    assert plane.seen_by_all() == system.plane.seen_by_all()
    assert documents.position == len(system.journal())


def test_catching_up_to_a_position_reads_at_least_that_far(system: System) -> None:
    plane, documents = a_second_plane(system)
    before = documents.position
    system.announce(a_reboot("web-0"))
    documents.catch_up(before + 1)
    assert documents.position >= before + 1
    assert plane.updates[-1].position == documents.position


def test_an_update_has_exactly_the_affected_audiences(system: System) -> None:
    system.announce(a_reboot(host="host-a"))
    assert names(system.plane.updates[-1]) == {"web", "db"}
    system.announce(a_reboot("lone"))
    assert names(system.plane.updates[-1]) == {"lone"}


def test_a_reader_that_was_away_gets_all_audiences_together(system: System) -> None:
    plane, documents = a_second_plane(system)
    for vm in ("web-0", "db-0", "iso-1"):
        system.announce(a_reboot(vm))
    documents.catch_up()
    assert len(plane.updates) == 2
    assert {"web", "db", "iso/iso-1"} <= names(plane.updates[-1])


def test_positions_of_updates_only_rise(system: System) -> None:
    system.announce(a_reboot("web-0"))
    system.announce(an_emergency("db-0"))
    system.advance.by(HOUR)
    positions = [update.position for update in system.plane.updates]
    assert positions == sorted(set(positions))
    assert positions[-1] == len(system.journal())


def test_every_incarnation_is_shown_in_order(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.engine.approve(maintenance.events[0].id, by="ops")
    system.advance.by(MINUTE)
    shown = [
        (entry.document.incarnation, [event.status for event in entry.document.events])
        for update in system.plane.updates
        for entry in update.shown
        if entry.audience.name == "web"
    ]
    assert shown[-4:] == [
        (0, []),
        (1, [EventStatus.SCHEDULED]),
        (2, [EventStatus.STARTED]),
        (3, []),
    ]


@pytest.mark.parametrize("was_isolated", [True, False])
def test_isolation_takes_effect_immediately_and_starts_an_epoch(
    system: System, was_isolated: bool
) -> None:
    system.fleets.put_group(replace(ISO, isolated=was_isolated), by="ops")
    system.announce(a_reboot("iso-0"))
    epochs = {system.plane.epoch(vm) for vm in ("iso-0", "iso-1")}
    system.fleets.put_group(replace(ISO, isolated=not was_isolated), by="ops")
    seen = {vm: system.plane.document(vm) for vm in ("iso-0", "iso-1")}
    assert epochs.isdisjoint(system.plane.epoch(vm) for vm in seen)
    assert [
        (document.incarnation, len(document.events)) for document in seen.values()
    ] == ([(1, 1), (1, 1)] if was_isolated else [(1, 1), (0, 0)])


def test_a_new_vm_is_placed_and_sees_what_its_group_sees(system: System) -> None:
    system.announce(a_reboot("web-0"))
    system.fleets.put_vm(VM(name="web-9", group="web", update_domain=9), by="ops")
    assert system.plane.vms["web-9"].group == "web"
    assert system.plane.document("web-9") == system.plane.document("web-0")


def test_a_removed_vm_is_removed(system: System) -> None:
    system.fleets.remove_vm("web-2", by="ops")
    assert system.plane.updates[-1].removed == ["web-2"]


def test_added_changed_and_removed_groups_are_named(system: System) -> None:
    app = Group(name="app", kind=GroupKind.SCALE_SET)
    system.fleets.put_group(app, by="ops")
    assert set(system.plane.updates[-1].regrouped) == {"app"}
    system.fleets.put_group(replace(app, terminate_notice=300), by="ops")
    assert set(system.plane.updates[-1].regrouped) == {"app"}
    system.fleets.remove_group("app", by="ops")
    assert set(system.plane.updates[-1].regrouped) == {"app"}


def test_a_vm_that_left_and_returned_is_shown(system: System) -> None:
    plane, documents = a_second_plane(system)
    lone = system.fleet().vms["lone"]
    system.fleets.remove_vm("lone", by="ops")
    system.fleets.put_vm(lone, by="ops")
    documents.catch_up()
    assert plane.vms["lone"] == lone
    assert plane.seen_by_all() == system.plane.seen_by_all()


def test_catching_up_shows_the_newest_state(system: System) -> None:
    plane, documents = a_second_plane(system)
    maintenance = system.announce(a_reboot("web-0"))
    system.engine.cancel(maintenance.id, by="ops")
    documents.catch_up()
    assert plane.document("web-0").events == ()
    assert plane.document("web-0").incarnation == 2


def test_a_failed_update_is_repeated(
    system: System,
) -> None:
    plane, is_broken = DocumentSink(), True

    def hand_over(update: DocumentUpdate) -> None:
        if is_broken:
            raise OSError("no")
        plane.hand_over(update)

    documents = Documents(system.store, hand_over)
    with pytest.raises(OSError, match="no"):
        documents.open()
    assert documents.position == 0
    is_broken = False
    documents.open()
    is_broken, position = True, documents.position
    system.announce(a_reboot("web-0"))
    with pytest.raises(OSError, match="no"):
        documents.catch_up()
    assert documents.position == position
    is_broken = False
    documents.catch_up()
    assert plane.seen_by_all() == system.plane.seen_by_all()


def test_a_long_journal_is_read_to_the_end(system: System) -> None:
    plane, documents = a_second_plane(system)
    for _ in range(300):  # more facts than one batch
        maintenance = system.announce(a_reboot("lone"))
        system.engine.cancel(maintenance.id, by="ops")
    documents.catch_up()
    assert documents.position == len(system.journal())
    assert plane.document("lone").incarnation == 600
