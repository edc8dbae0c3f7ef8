"""Fleet file: parsing, refusals with their location, and writing it back."""

import tomllib
from dataclasses import replace

import pytest

from forewarn.core.fleet import (
    VM,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    Fleet,
    Group,
    GroupKind,
    Host,
    OperatingSystem,
)
from forewarn.core.fleet_file import (
    find_problems,
    group_table,
    host_table,
    join,
    read_fleet,
    read_group,
    read_vm,
    vm_table,
    warnings,
)
from forewarn.errors import InvalidInput


def read(text: str) -> Fleet:
    return read_fleet(tomllib.loads(text), "fleet.toml")


WHOLE = """
[[hosts]]
name = "host-a"

[[groups]]
name = "web"
kind = "availability-set"
enabled = "always"
terminate_notice_seconds = 600
auto_approve = ["user-reboot", "user-redeploy"]
isolated = true
eviction_policy = "deallocate"

[[vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
fault_domain = 1
zone = "2"
addresses = ["10.0.0.1", "fd00::1"]
spot = true
eviction_policy = "delete"
paas = true
os = "windows"
tags = { role = "front" }
size = "large"
location = "here"
resource_group = "rg"
subscription = "sub"
vm_id = "7"
"""


def test_every_key_is_read() -> None:
    fleet = read(WHOLE)
    assert fleet.hosts == {"host-a": Host(name="host-a")}
    assert fleet.groups == {
        "web": Group(
            name="web",
            kind=GroupKind.AVAILABILITY_SET,
            enabled=Enabling.ALWAYS,
            terminate_notice=600,
            auto_approve=(AutoApproval.USER_REBOOT, AutoApproval.USER_REDEPLOY),
            isolated=True,
            eviction_policy=EvictionPolicy.DEALLOCATE,
        )
    }
    assert fleet.vms == {
        "web-0": VM(
            name="web-0",
            group="web",
            host="host-a",
            update_domain=0,
            fault_domain=1,
            zone="2",
            addresses=("10.0.0.1", "fd00::1"),
            spot=True,
            eviction_policy=EvictionPolicy.DELETE,
            paas=True,
            os=OperatingSystem.WINDOWS,
            tags={"role": "front"},
            size="large",
            location="here",
            resource_group="rg",
            subscription="sub",
            vm_id="7",
        )
    }


def test_missing_keys_get_defaults() -> None:
    group = read('[[groups]]\nname = "web"\nkind = "scale-set"').groups["web"]
    assert group == Group(name="web", kind=GroupKind.SCALE_SET)
    assert (group.enabled, group.isolated) == (Enabling.ON_DEMAND, False)
    vm = read('[[vms]]\nname = "db"').vms["db"]
    assert vm == VM(name="db", group="db", os=OperatingSystem.LINUX)


def test_null_is_the_same_as_absent() -> None:
    assert read_vm({"name": "vm0", "host": None, "tags": None}, "vm") == read_vm(
        {"name": "vm0"}, "vm"
    )


def test_an_empty_file_is_an_empty_fleet() -> None:
    assert read("") == Fleet()


def test_the_order_of_the_file_is_kept() -> None:
    fleet = read('[[vms]]\nname = "vm9"\n[[vms]]\nname = "vm1"')
    assert list(fleet.vms) == ["vm9", "vm1"]


# --- standalone VMs ----------------------------------------------------------


@pytest.mark.parametrize("group", ["", 'group = "vm0"', 'group = "VM0"'])
def test_a_vm_without_a_group_is_in_the_group_of_its_own_name(group: str) -> None:
    fleet = read(f'[[vms]]\nname = "vm0"\n{group}')
    assert fleet.vms["vm0"].group == "vm0"
    assert fleet.groups == {
        "vm0": Group(name="vm0", kind=GroupKind.STANDALONE, declared=False)
    }


def test_a_standalone_group_configures_its_vm() -> None:
    fleet = read(
        '[[vms]]\nname = "vm0"\n'
        '[[groups]]\nname = "vm0"\nkind = "standalone"\nenabled = "always"'
    )
    assert fleet.groups["vm0"].enabled is Enabling.ALWAYS
    assert fleet.groups["vm0"].declared


@pytest.mark.parametrize(
    ("group", "kind", "vm"),
    [
        ("web", "scale-set", 'name = "web"'),
        ("web", "scale-set", 'name = "web"\ngroup = "web"'),
        ("vm0", "standalone", 'name = "vm1"\ngroup = "vm0"'),
    ],
)
def test_a_standalone_group_and_its_vm_have_the_same_name(
    group: str, kind: str, vm: str
) -> None:
    with pytest.raises(InvalidInput, match=rf"VM \w+: group {group} has kind"):
        read(f'[[groups]]\nname = "{group}"\nkind = "{kind}"\n[[vms]]\n{vm}')


# --- names -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a", "A.b_c-9", "x" * 80, "0", ".a", "..."])
def test_a_name_has_up_to_80_of_the_allowed_characters(name: str) -> None:
    assert read_vm({"name": name}, "vm").name == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "x" * 81, "a b", "a/b", "ü", "a\n", 7, True, ["a"], {"a": 1}),
        *("-", "--all", "-rf", ".", "..", "..\n"),  # options and folders
    ],
)
@pytest.mark.parametrize("table", ["hosts", "groups", "vms"])
def test_an_invalid_name_is_refused(table: str, name: object) -> None:
    row = {"name": name, "kind": "scale-set"} if table == "groups" else {"name": name}
    with pytest.raises(InvalidInput, match="a name of 1 to 80"):
        read_fleet({table: [row]})


def test_a_stored_name_that_is_refused_today_is_kept() -> None:
    stored = VM(name="-rf", group="-rf")
    fleet = join([], [], [stored, read_vm({"name": "web-0"}, "vm")], "fleet")
    assert fleet.vms["-rf"] == stored


@pytest.mark.parametrize("table", ["hosts", "groups", "vms"])
def test_names_are_required_and_unique_regardless_of_case(table: str) -> None:
    with pytest.raises(InvalidInput, match=rf"\[\[{table}\]\] 1: name is missing"):
        read_fleet({table: [{}]})
    rows = [{"name": name, "kind": "scale-set"} for name in ("One", "oNE")]
    if table != "groups":
        rows = [{"name": row["name"]} for row in rows]
    with pytest.raises(InvalidInput, match="oNE; names must be unique"):
        read_fleet({table: rows})


def test_references_ignore_case_and_take_the_declared_spelling() -> None:
    vm = read(
        '[[hosts]]\nname = "Host-A"\n[[groups]]\nname = "Web"\nkind = "scale-set"\n'
        '[[vms]]\nname = "vm0"\ngroup = "wEB"\nhost = "hOST-a"'
    ).vms["vm0"]
    assert (vm.group, vm.host) == ("Web", "Host-A")


@pytest.mark.parametrize("key", ["group", "host"])
def test_an_undeclared_group_or_host_is_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match=rf"^fleet\.toml: VM vm0: {key} web is not"):
        read(f'[[vms]]\nname = "vm0"\n{key} = "web"')


# --- addresses ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("FD00:0::1", "fd00::1"),
    ],
)
def test_addresses_are_normalized(written: str, kept: str) -> None:
    assert read_vm({"name": "vm0", "addresses": [written]}, "vm").addresses == (kept,)


@pytest.mark.parametrize("address", ["", "10.0.0", "10.0.0.0/8", "host", 167772161])
def test_an_invalid_address_is_refused(address: object) -> None:
    with pytest.raises(InvalidInput, match="vm: addresses: expected an IPv4"):
        read_vm({"name": "vm0", "addresses": ["10.0.0.1", address]}, "vm")


@pytest.mark.parametrize("again", ["10.0.0.1", "::ffff:10.0.0.1"])
def test_an_address_belongs_to_one_vm(again: str) -> None:
    with pytest.raises(InvalidInput, match=r"10\.0\.0\.1 is already used by vm0"):
        read(
            '[[vms]]\nname = "vm0"\naddresses = ["10.0.0.1"]\n'
            f'[[vms]]\nname = "vm1"\naddresses = ["{again}"]'
        )


# --- warnings and writing back -----------------------------------------------


def a_fleet_text(*domains: str) -> str:
    vms = "".join(
        f'[[vms]]\nname = "vm{number}"\ngroup = "web"\nhost = "host-a"\n{domain}\n'
        for number, domain in enumerate(domains)
    )
    return (
        '[[hosts]]\nname = "host-a"\n'
        '[[groups]]\nname = "web"\nkind = "availability-set"\n' + vms
    )


def test_a_placement_that_defeats_update_domains_causes_a_warning() -> None:
    (warning,) = warnings(read(a_fleet_text("update_domain = 0", "update_domain = 1")))
    assert warning.startswith("host host-a runs VMs in group web from 2 update domains")
    for other in ("update_domain = 0", ""):
        assert warnings(read(a_fleet_text("update_domain = 0", other))) == []


@pytest.mark.parametrize(
    "text", [WHOLE, a_fleet_text("", "update_domain = 0"), '[[vms]]\nname = "vm0"']
)
def test_a_written_fleet_is_read_back_unchanged(text: str) -> None:
    fleet = read(text)
    written = {
        "hosts": [host_table(host) for host in fleet.hosts.values()],
        "groups": [
            group_table(group) for group in fleet.groups.values() if group.declared
        ],
        "vms": [vm_table(vm) for vm in fleet.vms.values()],
    }
    assert read_fleet(written) == fleet


def test_the_service_s_own_keys_of_a_group_are_accepted_and_ignored() -> None:
    table = {**group_table(read(WHOLE).groups["web"]), "last_request": "today"}
    assert read_group(table, "place") == read(WHOLE).groups["web"]


def test_the_deallocated_key_of_a_table_is_ignored() -> None:
    vm = VM(name="vm0", group="vm0", spot=True, deallocated=True)
    assert read_vm(vm_table(vm), "VM vm0") == replace(vm, deallocated=False)


def test_a_table_contains_every_key_of_the_file() -> None:
    table = vm_table(VM(name="vm0", group="vm0"))
    assert set(table) == {*tomllib.loads(WHOLE)["vms"][0], "deallocated"}
    assert table["host"] is None


# --- all problems ------------------------------------------------------------


def problems_of(text: str) -> dict[tuple[str | int, ...], str]:
    return dict(find_problems(tomllib.loads(text)))


def test_valid_fleet_has_no_problems() -> None:
    assert problems_of(WHOLE) == {}


def test_problems_of_all_tables_are_found() -> None:
    text = """
        extra = 1
        [[hosts]]
        [[groups]]
        name = "web"
        kind = "availability"
        [[vms]]
        name = "web-0"
        addresses = ["10.0.0.1", "x"]
        [[vms]]
        name = "web-1"
        eviction_policy = "delete"
    """
    assert [*problems_of(text)] == [
        ("extra",),
        ("hosts", 0),
        ("groups", 0, "kind"),
        ("vms", 0, "addresses", 1),
        ("vms", 1),
    ]


def test_problems_between_tables_are_all_found() -> None:
    text = """
        [[hosts]]
        name = "host-a"
        [[hosts]]
        name = "HOST-A"
        [[groups]]
        name = "web"
        kind = "standalone"
        [[vms]]
        name = "web-0"
        group = "web"
        host = "host-b"
        addresses = ["10.0.0.1"]
        [[vms]]
        name = "web-1"
        group = "wed"
        addresses = ["10.0.0.1"]
    """
    assert [*problems_of(text)] == [
        ("hosts", 1, "name"),
        ("vms", 0, "group"),
        ("vms", 0, "host"),
        ("vms", 1, "group"),
        ("vms", 1, "addresses", 0),
    ]


def test_first_problem_is_the_error_of_an_invalid_fleet() -> None:
    text = '[[vms]]\nname = "a"\nhost = "b"\n'
    [problem] = problems_of(text).values()
    with pytest.raises(InvalidInput) as error:
        read(text)
    assert str(error.value) == f"fleet.toml: {problem}"
