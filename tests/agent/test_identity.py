"""VM names: which of the names in a document is this VM's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.agent.identity import VmIdentity, is_same
from forewarn.protocol.types import Document, ScheduledEvent


def a_document(*resources: str) -> Document:
    event = ScheduledEvent(
        id="E", type="Reboot", status="Scheduled", resources=resources
    )
    return Document(incarnation=1, events=(event,))


# --- equal names -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("web-0", "web-0"),
        ("web-0", "WEB-0"),
        ("Web-0", "_web-0"),
        ("pool-vmss_18", "pool-vmss_18"),
        ("pool-vmss00000i", "pool-vmss_18"),
        ("POOL-VMSS00000I", "pool-vmss_18"),
        ("pool-vmss_18", "pool-vmss00000i"),
        ("pool-vmss00000i", "_pool-vmss_18"),
        ("pool-vmss000000", "pool-vmss_0"),
        ("pool-vmss000010", "pool-vmss_36"),
        ("poolzzzzzz", "pool_2176782335"),
        ("my_pool_3", "my_pool000003"),
        ("FrontEnd_IN_0", "frontend_in_0"),
    ],
)
def test_a_resource_is_this_vm(name: str, resource: str) -> None:
    assert is_same(name, resource)


@pytest.mark.parametrize(
    ("name", "resource"),
    [
        ("web-0", "web-1"),
        ("web-0", "web-00"),
        ("web-0", "__web-0"),
        ("pool-vmss00000i", "other-vmss_18"),
        ("pool-vmss00000i", "pool-vmss_17"),
        ("pool-vmss000010", "pool-vmss_10"),
        ("pool-vmss_18", "pool-vmss_018"),
        ("pool-vmss00000i", "pool-vmss_00000i"),
        ("pool000000", "pool_2176782336"),
        ("00000i", "_18"),
        ("web", ""),
    ],
)
def test_a_resource_is_another_vm(name: str, resource: str) -> None:
    assert not is_same(name, resource)


def test_without_a_name_nothing_matches() -> None:
    assert VmIdentity(host_name="").position(["web-0", ""]) is None


@given(
    st.from_regex(r"[a-z][a-z0-9-]{0,9}", fullmatch=True),
    st.integers(0, 36**6 - 1),
    st.integers(0, 36**6 - 1),
)
def test_a_host_name_belongs_to_exactly_one_instance_number(
    prefix: str, number: int, other: int
) -> None:
    digits = ""
    rest = number
    while rest:
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[rest % 36] + digits
        rest //= 36
    host = prefix + digits.rjust(6, "0")
    assert int(host[-6:], 36) == number
    assert is_same(host, f"{prefix}_{number}")
    assert is_same(f"{prefix}_{other}", host) is (other == number)


def test_the_position_is_the_index_in_the_resources() -> None:
    me = VmIdentity(host_name="pool00000b")
    assert me.position(["pool_10", "Pool_11", "pool_12"]) == 1
    assert me.position(["pool_11"]) == 0
    assert me.position(["pool_1"]) is None
    assert me.position([]) is None


# --- identity ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("explicit", "compute_name", "host_name", "name"),
    [
        ("a", "b", "c", "a"),
        (None, "b", "c", "b"),
        (None, None, "c.example.org", "c"),
        (None, None, "", None),
    ],
)
def test_the_configured_name_counts_then_the_service_s_then_the_host_name(
    explicit: str | None, compute_name: str | None, host_name: str, name: str | None
) -> None:
    me = VmIdentity(explicit=explicit, compute_name=compute_name, host_name=host_name)
    assert me.name == name


# --- mismatches --------------------------------------------------------------


def mismatch_text(
    *resources: str,
    explicit: str | None = None,
    compute_name: str | None = None,
    host_name: str = "",
) -> str:
    me = VmIdentity(explicit=explicit, compute_name=compute_name, host_name=host_name)
    return str(me.mismatch(a_document(*resources)))


def test_a_configured_name_unknown_to_the_service_is_reported() -> None:
    message = mismatch_text(explicit="web-1", compute_name="web-0")
    assert "configured as web-1" in message
    assert "/metadata/instance reports web-0" in message


def test_a_configured_name_may_have_another_form() -> None:
    assert mismatch_text(explicit="POOL00000i", compute_name="pool_18") == "None"


def test_events_that_list_the_hostname_are_reported() -> None:
    message = mismatch_text(
        "db", "Box-7", compute_name="web-0", host_name="box-7.example.org"
    )
    assert message.startswith("events list Box-7, which is this machine's hostname")
    assert "uses web-0 as its name" in message


def test_events_that_list_the_scale_set_form_of_the_hostname_are_reported() -> None:
    assert "events list pool_18" in mismatch_text(
        "pool_18", compute_name="web-0", host_name="pool00000i"
    )


def test_events_that_also_list_this_vm_are_no_mismatch() -> None:
    assert (
        mismatch_text("box-7", "web-0", compute_name="web-0", host_name="box-7")
        == "None"
    )


def test_a_hostname_that_no_event_lists_is_no_mismatch() -> None:
    assert mismatch_text("db", compute_name="web-0", host_name="box-7") == "None"


def test_having_only_a_hostname_is_reported() -> None:
    assert "uses the hostname box-7," in mismatch_text(host_name="box-7.example.org")


def test_having_no_name_at_all_is_reported() -> None:
    assert "the name of this VM is unknown" in mismatch_text()


def test_there_is_no_mismatch_before_the_first_document() -> None:
    assert VmIdentity(compute_name="a", host_name="b").mismatch(None) is None
