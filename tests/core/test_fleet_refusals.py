"""Fleet file refusals: the location and the expected value of every bad entry."""

import tomllib

import pytest

from forewarn.core.fleet_file import read_fleet, read_group, read_vm
from forewarn.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[vm]]", 'vm: unknown key; did you mean "vms"?'),
        (
            '[[hosts]]\nname = "h"\n[[hosts]]\nname = "i"\nrack = 1',
            "[[hosts]] 2 (i): rack: unknown key; expected one of: name",
        ),
        (
            '[[hosts]]\nname = "h"\nlast_request = "now"',
            "[[hosts]] 1 (h): last_request: unknown key; expected one of: name",
        ),
        (
            '[[groups]]\nname = "g"\nkind = "scale-set"\nisolate = 1',
            '[[groups]] 1 (g): isolate: unknown key; did you mean "isolated"?',
        ),
        (
            '[[groups]]\nname = "g"\nkind = "scale-set"\nlistening = "always"',
            '[[groups]] 1 (g): listening: unknown key; it is now called "enabled"',
        ),
        (
            '[[vms]]\nname = "v"\nhosts = "h"',
            '[[vms]] 1 (v): hosts: unknown key; did you mean "host"?',
        ),
    ],
)
def test_an_unknown_key_is_refused_with_its_location(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_fleet(tomllib.loads(text), "fleet.toml")
    assert str(refused.value) == f"fleet.toml: {complaint}"


def test_an_unknown_key_is_refused_even_if_its_value_is_null() -> None:
    with pytest.raises(InvalidInput, match="vm: cpu: unknown key"):
        read_vm({"name": "v", "cpu": None}, "vm")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("kind", "Scale-Set", 'one of "availability-set", "cloud-service"'),
        ("enabled", "never", 'one of "on-demand", "always"'),
        ("terminate_notice_seconds", 299, "a whole number from 300 to 900"),
        ("terminate_notice_seconds", 901, "a whole number from 300 to 900"),
        ("auto_approve", "user-reboot", "a list of user operations"),
        ("auto_approve", ["user-freeze"], 'one of "user-reboot", "user-redeploy"'),
        ("isolated", "true", "true or false"),
    ],
)
def test_a_bad_group_value_is_refused_with_the_expected_one(
    key: str, value: object, expected: str
) -> None:
    table = {"name": "g", "kind": "scale-set", key: value}
    with pytest.raises(InvalidInput) as refused:
        read_fleet({"groups": [table]}, "fleet.toml")
    start = f"fleet.toml: [[groups]] 1 (g): {key}: expected {expected}"
    assert str(refused.value).startswith(start)


def test_a_group_needs_a_kind() -> None:
    with pytest.raises(InvalidInput, match="place: kind is missing"):
        read_group({"name": "g"}, "place")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("group", "a b", "a name of 1 to 80"),
        ("host", 7, "a name of 1 to 80"),
        ("update_domain", -1, "a whole number from 0 to 999999"),
        ("fault_domain", 1.5, "a whole number from 0 to 999999"),
        ("zone", 1, "a string"),
        ("addresses", "10.0.0.1", "a list of addresses"),
        ("spot", "no", "true or false"),
        ("paas", 0, "true or false"),
        ("eviction_policy", "keep", 'one of "delete", "deallocate"'),
        ("os", "Windows", 'one of "linux", "windows"'),
        ("tags", ["a"], "a table of strings"),
        ("size", 4, "a string"),
        ("location", [], "a string"),
        ("resource_group", {}, "a string"),
        ("subscription", "\ud800", "a string"),
        ("vm_id", "x" * 1001, "a string of at most 1000"),
    ],
)
def test_a_bad_vm_value_is_refused_with_the_expected_one(
    key: str, value: object, expected: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_vm({"name": "v", key: value}, "VM v")
    assert str(refused.value).startswith(f"VM v: {key}: expected {expected}")


@pytest.mark.parametrize("spot", [{}, {"spot": False}])
def test_only_a_spot_vm_has_an_eviction_policy(spot: dict[str, bool]) -> None:
    with pytest.raises(InvalidInput, match=r"VM v: eviction_policy requires spot"):
        read_vm({"name": "v", "eviction_policy": "delete", **spot}, "VM v")


def test_deallocated_is_not_a_key_of_a_group() -> None:
    with pytest.raises(InvalidInput, match="deallocated"):
        read_group({"name": "g", "kind": "scale-set", "deallocated": True}, "group g")


def test_a_bad_tag_is_refused_with_its_name() -> None:
    with pytest.raises(InvalidInput, match=r"VM v: tags\.a: expected a string"):
        read_vm({"name": "v", "tags": {"a": 1}}, "VM v")


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ([], "tables hosts, groups and vms, not a list"),
        (None, "tables hosts, groups and vms, not null"),
        ({"vms": {"name": "v"}}, "[[vms]] tables, not a table"),
        ({"vms": "v"}, '[[vms]] tables, not "v"'),
        ({"vms": ["v"]}, 'a table, not "v"'),
        ({"vms": [None]}, "a table, not null"),
    ],
)
def test_a_fleet_consists_of_lists_of_tables(data: object, expected: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_fleet(data)
    assert str(refused.value).endswith(f": expected {expected}")
