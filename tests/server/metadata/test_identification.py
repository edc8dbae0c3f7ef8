"""Identification of metadata clients by address or by name."""

from dataclasses import replace

import pytest
from tests.server.support.handlers import (
    VMS,
    WEB,
    HandlerHarness,
    a_harness,
    an_event,
    shown,
)

from forewarn.core.fleet import VM
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.directory import normalize_address

INSTANCE = "/metadata/instance/compute/name?api-version=2021-02-01&format=text"


def identified_vm(
    harness: HandlerHarness, address: str, prefix: str = ""
) -> tuple[int, str]:
    """Return the status and the name of the VM that the service identifies."""
    response = harness.request(f"{prefix}{INSTANCE}", address=address)
    return response.status, response.body.decode()


# --- by address --------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "vm"),
    [("10.0.0.1", "web-0"), ("10.0.0.2", "web-1"), ("fd00::2", "web-1")],
)
@pytest.mark.parametrize("is_open", [True, False])
def test_vm_is_identified_by_its_addresses(
    address: str, vm: str, is_open: bool
) -> None:
    assert identified_vm(a_harness(is_open=is_open), address) == (200, vm)


@pytest.mark.parametrize("address", ["10.9.9.9", "fd00::9"])
def test_unknown_address_is_named_in_the_404(address: str) -> None:
    status, text = identified_vm(a_harness(), address)
    assert status == 404
    assert address in text


@pytest.mark.parametrize(
    ("peer", "plain"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("::FFFF:a00:1", "10.0.0.1"),
        ("fd00:0:0::2", "fd00::2"),
        ("fe80::1%eth0", "fe80::1"),
        ("::1", "::1"),
    ],
)
def test_addresses_are_normalized(peer: str, plain: str) -> None:
    assert normalize_address(peer) == plain


# --- by name -----------------------------------------------------------------


@pytest.mark.parametrize(
    "prefix", ["/vm/web-1", "/VM/WEB-1", "/vm/web%2D1", "/vm/web-1/"]
)
def test_open_plane_accepts_a_vm_name_in_the_path(prefix: str) -> None:
    assert identified_vm(a_harness(is_open=True), "10.0.0.1", prefix) == (200, "web-1")


def test_unknown_name_is_named_in_the_404() -> None:
    status, text = identified_vm(a_harness(is_open=True), "10.0.0.1", "/vm/nobody")
    assert status == 404
    assert "nobody" in text


def test_closed_plane_ignores_a_vm_name_in_the_path() -> None:
    status, text = identified_vm(a_harness(), "10.0.0.1", "/vm/web-0")
    assert (status, text) == (404, '{ "error": "Not found" }')


@pytest.mark.parametrize("path", ["/vm", "/vm/", "/vm/web-0", "/vm/web-0/metadata"])
def test_vm_name_without_a_path_gets_404(path: str) -> None:
    assert a_harness(is_open=True).request(path).body == b'{ "error": "Not found" }'


def test_unknown_address_on_an_open_plane_is_the_first_vm() -> None:
    assert identified_vm(a_harness(is_open=True), "127.0.0.1") == (200, "web-0")


def test_unknown_address_on_an_open_plane_is_the_default_vm() -> None:
    harness = a_harness(is_open=True, default_vm="WEB-1")
    assert identified_vm(harness, "127.0.0.1") == (200, "web-1")


def test_nonexistent_default_vm_gets_404() -> None:
    harness = a_harness(is_open=True, default_vm="nobody")
    assert identified_vm(harness, "127.0.0.1")[0] == 404


def test_closed_plane_ignores_the_default_vm() -> None:
    assert identified_vm(a_harness(default_vm="web-0"), "127.0.0.1")[0] == 404


def test_every_client_is_unknown_without_a_fleet() -> None:
    harness = a_harness(is_open=True, vms=())
    status, text = identified_vm(harness, "127.0.0.1")
    assert status == 404
    assert "127.0.0.1" in text


# --- a changing fleet --------------------------------------------------------


def change(harness: HandlerHarness, *placed: VM, removed: tuple[str, ...] = ()) -> None:
    update = DocumentUpdate(position=1, shown=[shown()], placed=placed, removed=removed)
    harness.handler.directory.update(update)


def test_removed_vm_is_unknown() -> None:
    harness = a_harness()
    change(harness, removed=("web-0",))
    assert identified_vm(harness, "10.0.0.1")[0] == 404


def test_vm_is_identified_only_by_its_new_address() -> None:
    harness = a_harness()
    change(harness, replace(VMS[0], addresses=("10.0.0.7",)))
    assert identified_vm(harness, "10.0.0.7") == (200, "web-0")
    assert identified_vm(harness, "10.0.0.1")[0] == 404


@pytest.mark.parametrize("first", [0, 1])
def test_two_vms_may_swap_addresses(first: int) -> None:
    harness = a_harness()
    swapped = [
        replace(VMS[0], addresses=VMS[1].addresses),
        replace(VMS[1], addresses=VMS[0].addresses),
    ]
    change(harness, swapped[first], swapped[1 - first])
    assert identified_vm(harness, "10.0.0.1") == (200, "web-1")
    assert identified_vm(harness, "10.0.0.2") == (200, "web-0")


def test_new_vm_reads_the_document_of_its_group() -> None:
    harness = a_harness(shown(WEB, an_event()))
    update = DocumentUpdate(
        position=1,
        shown=[shown(WEB, an_event())],
        placed=[VM(name="web-9", group="web", addresses=("10.0.0.9",))],
    )
    harness.handler.directory.update(update)
    assert b'"EventId":"E0"' in harness.request(address="10.0.0.9").body


def test_group_isolated_later_has_one_document_per_vm() -> None:
    harness = a_harness(shown(WEB, an_event()))
    alone = replace(WEB, isolated=True)
    harness.handler.directory.update(
        DocumentUpdate(
            position=1,
            shown=[shown(alone, an_event(), vm="web-0"), shown(alone, vm="web-1")],
            placed=VMS[:2],
            regrouped=frozenset({"web"}),
        )
    )
    assert b'"EventId":"E0"' in harness.request(address="10.0.0.1").body
    assert b'"Events":[]' in harness.request(address="10.0.0.2").body


def test_document_of_a_vm_that_leaves_an_isolated_group_is_dropped() -> None:
    alone = replace(WEB, isolated=True)
    harness = a_harness(shown(WEB))
    directory = harness.handler.directory
    views = [shown(alone, vm=vm.name) for vm in VMS[:2]]
    isolated = DocumentUpdate(
        position=1, shown=views, placed=VMS[:2], regrouped=frozenset({"web"})
    )
    directory.update(isolated)
    before = {*directory._documents}
    moved = replace(VMS[1], group="other")
    other = shown(replace(WEB, name="other"))
    directory.update(
        DocumentUpdate(position=2, shown=[other], placed=[moved], removed=["web-0"])
    )
    assert {*directory._documents} == before - {"web/web-0", "web/web-1"} | {"other"}
