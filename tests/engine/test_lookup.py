"""Lookup of maintenance operations and events: IDs, prefixes, names, and tokens."""

import re
from dataclasses import replace

import pytest
from tests.engine.support.system import System, a_reboot, an_emergency

from forewarn.core.fleet import VM
from forewarn.core.lifecycle.commands import PossibleCommand
from forewarn.core.lifecycle.model import Event, Maintenance
from forewarn.engine.lookup import find_event, find_maintenance
from forewarn.errors import InvalidInput, NotFound

_COMMANDS = (PossibleCommand.APPROVE, PossibleCommand.CANCEL, PossibleCommand.COMPLETE)


def find(
    system: System,
    any_id: str,
    group: str | None = None,
    command: PossibleCommand | None = None,
) -> Maintenance:
    with system.store.snapshot() as snapshot:
        return find_maintenance(snapshot, any_id, group=group, command=command)


def event_of(system: System, any_id: str, group: str | None = None) -> Event:
    with system.store.snapshot() as snapshot:
        return find_event(snapshot, any_id, group=group)[1]


def refused(system: System, any_id: str, group: str | None = None) -> str:
    with pytest.raises((NotFound, InvalidInput)) as refusal:
        find(system, any_id, group)
    return str(refusal.value)


def test_operation_is_found_by_each_of_its_ids(system: System) -> None:
    first, other = system.announce(a_reboot("web-0")), system.announce(a_reboot("lone"))
    event = first.events[0].id
    for any_id in ("m-1", "M-1", " m-1 ", first.id, event, first.id[:8], event[:12]):
        assert find(system, any_id) == first
        assert find(system, any_id.lower()) == first
    assert find(system, "m-2") == other


@pytest.mark.parametrize("any_id", ["m-3", "m-0", "m-01", "m-", "1", "000", "m-9" * 9])
def test_other_texts_identify_nothing(system: System, any_id: str) -> None:
    system.announce(a_reboot("web-0"))
    assert refused(system, any_id) == f"maintenance or event {any_id} not found"


def test_operation_that_has_ended_is_found_only_by_its_ids(system: System) -> None:
    ended = system.announce(a_reboot("web-0"))
    ended = system.engine.cancel("web-0", by="ops")
    assert [find(system, any_id) for any_id in ("m-1", ended.id[:8])] == [ended, ended]
    assert refused(system, "web-0") == (
        "VM web-0 has no scheduled or started maintenance"
    )


def test_ambiguous_prefix_is_refused_with_labels_and_titles(system: System) -> None:
    for vm in ("web-0", "lone", "db-0", "web-1"):
        system.announce(a_reboot(vm))
    assert refused(system, "0000") == (
        "0000 is ambiguous: m-1 (Reboot of web-0), m-2 (Reboot of lone), m-3"
        " (Reboot of db-0)"
    )


def test_name_is_not_mistaken_for_a_prefix(system: System) -> None:
    """In a large store, each name like db01 is also a prefix of some ID."""
    other = system.announce(a_reboot("web-0"))
    name = other.id[:8]
    system.fleets.put_vm(VM(name=name, group=name), by="ops")
    assert refused(system, name).startswith(f"VM {name} has no ")
    own = system.announce(a_reboot(name))
    assert find(system, name) == own
    assert find(system, other.id[:9]) == other


def test_name_stands_for_the_only_live_operation_there(system: System) -> None:
    for noun, name in (("VM", "web-0"), ("host", "host-a"), ("group", "web")):
        assert refused(system, name) == (
            f"{noun} {name} has no scheduled or started maintenance"
        )
    first = system.announce(a_reboot(host="host-a"))
    for name in ("web-0", "WEB-0", "host-a", "web", "db"):
        assert find(system, name) == first
    assert refused(system, "web-1").startswith("VM web-1 has no ")  # only its group has
    system.announce(a_reboot("web-1"))
    assert refused(system, "web") == (
        "web is ambiguous: m-1 (Reboot of host-a (db-0, web-0)), m-2 (Reboot of web-1)"
    )


def test_name_stands_for_the_operation_that_accepts_the_command(
    system: System,
) -> None:
    started = system.announce(an_emergency("web-0"))
    scheduled = system.announce(a_reboot("web-0"))
    found = {command: find(system, "web-0", None, command).id for command in _COMMANDS}
    assert found == dict(zip(_COMMANDS, (*[scheduled.id] * 2, started.id), strict=True))
    for command, adjective in zip(
        PossibleCommand,
        ["unapproved", "scheduled", "started", "stuck", "stuck"],
        strict=True,
    ):
        with pytest.raises(NotFound, match=f"VM lone has no {adjective} maintenance"):
            find(system, "lone", None, command)


def test_vm_that_has_left_an_operation_does_not_stand_for_it(system: System) -> None:
    system.announce(a_reboot(host="host-a"))
    system.fleets.put_vm(VM(name="web-0", group="web", update_domain=0), by="ops")
    assert refused(system, "web-0").startswith("VM web-0 has no ")
    assert find(system, "db-0").label == "m-1"


def test_host_stands_for_its_operation_even_if_its_vms_have_moved(
    system: System,
) -> None:
    system.announce(replace(an_emergency(), host="host-a"))
    for name, group in (("web-0", "web"), ("db-0", "db")):
        moved = VM(name=name, group=group, host="host-b", update_domain=0)
        system.fleets.put_vm(moved, by="ops")
    assert find(system, "host-a", None, PossibleCommand.COMPLETE).label == "m-1"


def test_token_of_a_group_finds_nothing_of_other_groups(system: System) -> None:
    theirs = system.announce(a_reboot("lone"))
    for any_id in ("m-1", theirs.id, theirs.events[0].id, theirs.id[:8], "lone"):
        assert refused(system, any_id, "web") == (
            f"maintenance or event {any_id} not found"
        )
    assert refused(system, "0000", "web") == "maintenance or event 0000 not found"


def test_prefix_of_many_other_operations_finds_the_one_of_a_group(
    system: System,
) -> None:
    for vm in ("lone", "db-0", "db-1", "iso-0", "web-0"):
        system.announce(a_reboot(vm))
    assert find(system, "0000", "web").label == "m-5"
    assert refused(system, "0000", "db").startswith("0000 is ambiguous: m-2 (")


def test_token_of_a_group_sees_only_its_share(system: System) -> None:
    system.fleets.put_vm(VM(name="host-a", group="web"), by="ops")
    shared = system.announce(a_reboot(host="host-a"))
    of = {event.group: event.id for event in shared.events}
    assert find(system, of["web"][:8], "web") == shared
    for any_id in (of["db"], of["db"][:8], "db-0", "db", "host-b"):
        assert refused(system, any_id, "web") == (
            f"maintenance or event {any_id} not found"
        )
    # The VM with the name of the hidden host is not affected.
    assert refused(system, "host-a", "web") == (
        "VM host-a has no scheduled or started maintenance"
    )
    system.announce(a_reboot("web-0"))
    assert refused(system, "web", "web") == (
        "web is ambiguous: m-1 (Reboot of web-0), m-2 (Reboot of web-0)"
    )
    assert event_of(system, "m-1", "web").id == of["web"]


def test_name_stands_for_what_the_group_itself_can_approve(system: System) -> None:
    shared = system.announce(a_reboot(host="host-a"))
    own = next(event for event in shared.events if event.group == "web")
    system.engine.approve(own.id, by="web-0")
    other = system.announce(a_reboot("web-0"))
    assert find(system, "web-0", "web", PossibleCommand.APPROVE) == other


def test_event_is_found_by_its_id_a_prefix_or_its_operation(system: System) -> None:
    (event,) = system.announce(a_reboot("lone")).events
    for any_id in (event.id, event.id[:8].lower(), "m-1", "lone"):
        assert event_of(system, any_id) == event


def test_operation_with_two_events_does_not_stand_for_one(system: System) -> None:
    first, second = system.announce(a_reboot(host="host-a")).events
    assert event_of(system, second.id[:8]) == second
    with pytest.raises(InvalidInput, match="m-1 identifies 2 events; specify") as no:
        event_of(system, "m-1")
    assert re.findall(r"[0-9A-F-]{36}", str(no.value)) == [first.id, second.id]
