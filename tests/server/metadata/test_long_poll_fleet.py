"""Long polls across fleet changes: the response is for the VM's new state."""

from dataclasses import replace

import pytest
from tests.server.support.connections import ClientConnection, FakePlane, a_poll
from tests.server.support.handlers import (
    EVENTS,
    NOON,
    QUIET,
    VMS,
    WEB,
    a_harness,
    an_event,
    shown,
)

from forewarn.core.fleet import VM, Enabling, Group, GroupKind
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.handler import EnableFirst

DB = Group(name="db", kind=GroupKind.AVAILABILITY_SET, enabled=Enabling.ALWAYS)
DB_0 = VM(name="db-0", group="db", addresses=("10.0.0.5",))
DB_DOCUMENT = shown(DB, an_event("D0"), epoch="d0")


def a_plane(*, is_open: bool = False) -> FakePlane:
    """Return a plane with the groups web and db, and an event in db."""
    groups = (WEB, DB)
    vms = (*VMS[:2], DB_0)
    return FakePlane(a_harness(DB_DOCUMENT, vms=vms, groups=groups, is_open=is_open))


def waiting(
    plane: FakePlane, peer: str = "10.0.0.1", *, tag: str = '"e0.0"'
) -> ClientConnection:
    line = ClientConnection(plane, peer)
    line.send(a_poll(tag=tag))
    assert line.socket.written == b""
    return line


def move_vms(plane: FakePlane, *vms: VM) -> None:
    update = DocumentUpdate(position=1, shown=[shown(), DB_DOCUMENT], placed=vms)
    plane.change(update)


@pytest.mark.parametrize("tag", ['"e0.0"', "*"])
def test_moved_vm_gets_the_document_of_its_new_group(tag: str) -> None:
    plane = a_plane()
    line, other = waiting(plane, tag=tag), waiting(plane, "10.0.0.2")
    move_vms(plane, replace(VMS[0], group="db"))
    (response,) = line.responses
    assert response.header(b"etag") == b'"d0.1"'
    assert response.status == (304 if tag == "*" else 200)
    assert other.statuses == []
    assert plane.waiters("10.0.0.2") == 1


def test_vm_moved_to_a_disabled_group_enables_it() -> None:
    plane = FakePlane()
    line = waiting(plane)
    moved = replace(VMS[0], group="quiet")
    plane.change(
        DocumentUpdate(position=1, shown=[shown(), shown(QUIET)], placed=[moved])
    )
    assert plane.deferred == [EnableFirst(group="quiet")]
    enabled = replace(QUIET, last_request=NOON)
    plane.change(DocumentUpdate(position=2, shown=[shown(enabled, epoch="e1")]))
    line.wire.enabled(None)
    assert line.responses[0].header(b"etag") == b'"e1.0"'


def test_removed_vm_gets_404() -> None:
    plane = a_plane()
    line, other = waiting(plane), waiting(plane, "10.0.0.2")
    plane.change(DocumentUpdate(position=1, shown=[shown()], removed=["web-0"]))
    assert line.statuses == [404]
    assert b"10.0.0.1" in line.responses[0].body
    assert other.statuses == []


def test_removed_vm_given_by_name_gets_404() -> None:
    plane = a_plane(is_open=True)
    line = ClientConnection(plane, "127.0.0.1")
    line.send(a_poll(target=f"/vm/web-1{EVENTS}"))
    plane.change(DocumentUpdate(position=1, shown=[shown()], removed=["web-1"]))
    assert line.statuses == [404]


def test_isolating_a_group_gives_each_vm_its_own_document() -> None:
    plane = a_plane()
    lines = [waiting(plane), waiting(plane, "10.0.0.2")]
    alone = replace(WEB, isolated=True)
    plane.change(
        DocumentUpdate(
            position=1,
            shown=[
                shown(alone, an_event(), epoch="e1", vm="web-0"),
                shown(alone, epoch="e2", vm="web-1"),
            ],
            placed=VMS[:2],
            regrouped=frozenset({"web"}),
        )
    )
    tags = [[response.header(b"etag") for response in line.responses] for line in lines]
    assert tags == [[b'"e1.1"'], [b'"e2.0"']]


def test_ending_isolation_gives_all_vms_the_same_document() -> None:
    alone = replace(WEB, isolated=True)
    before = [shown(alone, vm="web-0"), shown(alone, vm="web-1")]
    plane = FakePlane(a_harness(*before, vms=VMS[:2], groups=(alone,)))
    lines = [waiting(plane), waiting(plane, "10.0.0.2")]
    together = DocumentUpdate(
        position=1,
        shown=[shown(WEB, epoch="e1")],
        placed=VMS[:2],
        regrouped=frozenset({"web"}),
    )
    plane.change(together)
    assert [line.statuses for line in lines] == [[200], [200]]
    assert plane.waiters() == 0


def test_removing_a_group_with_its_vms_ends_all_waits() -> None:
    plane = a_plane()
    line = waiting(plane, "10.0.0.5", tag='"d0.1"')
    removed_groups = frozenset({"db"})
    update = DocumentUpdate(
        position=1, removed=["db-0"], regrouped=removed_groups, ungrouped=removed_groups
    )
    plane.change(update)
    assert line.statuses == [404]


# --- addresses ---------------------------------------------------------------


def test_client_at_an_address_no_longer_assigned_gets_404() -> None:
    plane = a_plane()
    line = waiting(plane)
    move_vms(plane, replace(VMS[0], addresses=("10.0.0.7",)))
    assert line.statuses == [404]


def test_client_at_a_reassigned_address_gets_the_document_of_the_new_vm() -> None:
    plane = a_plane()
    line = waiting(plane)
    move_vms(
        plane,
        replace(VMS[0], addresses=DB_0.addresses),
        replace(DB_0, addresses=VMS[0].addresses),
    )
    assert line.responses[0].header(b"etag") == b'"d0.1"'


@pytest.mark.parametrize("first", [0, 1])
def test_address_swap_within_a_group_wakes_no_waiter(first: int) -> None:
    plane = a_plane()
    line = waiting(plane)
    swapped = [
        replace(VMS[0], addresses=VMS[1].addresses),
        replace(VMS[1], addresses=VMS[0].addresses),
    ]
    move_vms(plane, swapped[first], swapped[1 - first])
    assert line.statuses == []
    assert plane.waiters() == 1


def test_unchanged_placement_wakes_no_waiter() -> None:
    plane = a_plane(is_open=True)
    waiting(plane)
    waiting(plane, "127.0.0.1")
    again = DocumentUpdate(
        position=1, shown=[shown(), DB_DOCUMENT], placed=(*VMS[:2], DB_0)
    )
    assert list(plane.handler.directory.update(again)) == []


def test_unknown_client_gets_the_document_of_the_vm_that_receives_its_address() -> None:
    plane = a_plane(is_open=True)
    line = waiting(plane, "127.0.0.9")
    move_vms(plane, VM(name="db-1", group="db", addresses=("127.0.0.9",)))
    assert line.responses[0].header(b"etag") == b'"d0.1"'


def test_unknown_client_gets_the_document_of_the_new_first_vm() -> None:
    plane = a_plane(is_open=True)
    line, other = waiting(plane, "127.0.0.9"), waiting(plane)
    plane.change(DocumentUpdate(position=1, first_vm="db-0"))
    assert line.responses[0].header(b"etag") == b'"d0.1"'
    assert other.statuses == []
