"""Fleet file refusals: the location and the expected value of every bad entry."""

import tomllib

import pytest

from forewarn.core.fleet_file import read_fleet, read_group
from forewarn.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[vm]]", "fleet.toml: unknown key 'vm'; known are hosts, groups, vms"),
        (
            '[[hosts]]\nname = "h"\nrack = 1',
            "fleet.toml: [[hosts]] 1 (h): unknown key 'rack'; known are name",
        ),
        (
            '[[hosts]]\nname = "h"\n[[hosts]]\nname = "i"\nName = "j"',
            "fleet.toml: [[hosts]] 2 (i): unknown key 'Name'",
        ),
        (
            '[[groups]]\nname = "g"\nkind = "scale-set"\ncolor = "red"',
            "fleet.toml: [[groups]] 1 (g): unknown key 'color'",
        ),
        (
            '[[vms]]\nname = "v"\ncpu = 2',
            "fleet.toml: [[vms]] 1 (v): unknown key 'cpu'",
        ),
        (
            '[[hosts]]\nname = "h"\nlast_request = "now"',
            "fleet.toml: [[hosts]] 1 (h): unknown key 'last_request'",
        ),
        (
            '[[vms]]\nname = "v"\nlistening_since = "now"',
            "fleet.toml: [[vms]] 1 (v): unknown key 'listening_since'",
        ),
    ],
)
def test_an_unknown_key_is_refused_with_its_location(text: str, complaint: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_fleet(tomllib.loads(text), "fleet.toml")
    assert complaint in str(refused.value)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("kind", "cluster", '"availability-set" or "cloud-service"'),
        ("kind", "Scale-Set", '"scale-set"'),
        ("listening", "never", '"on-demand" or "always"'),
        ("terminate_notice_seconds", 299, "a whole number from 300 to 900"),
        ("terminate_notice_seconds", 901, "a whole number from 300 to 900"),
        ("terminate_notice_seconds", 300.0, "a whole number from 300 to 900"),
        ("terminate_notice_seconds", True, "a whole number from 300 to 900"),
        ("auto_approve", "user-reboot", "a list of user operations"),
        ("auto_approve", ["user-freeze"], '"user-reboot" or "user-redeploy"'),
        ("isolated", 1, "true or false"),
        ("isolated", "true", "true or false"),
    ],
)
def test_a_bad_group_value_is_refused_with_the_expected_one(
    key: str, value: object, expected: str
) -> None:
    table = {"name": "g", "kind": "scale-set", key: value}
    with pytest.raises(InvalidInput) as refused:
        read_fleet({"groups": [table]}, "fleet.toml")
    assert f"fleet.toml: [[groups]] 1 (g).{key}" in str(refused.value)
    assert expected in str(refused.value)


def test_a_group_needs_a_kind() -> None:
    with pytest.raises(InvalidInput, match="place: kind is missing"):
        read_group({"name": "g"}, "place")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("group", "a b", "a name of 1 to 80"),
        ("host", 7, "a name of 1 to 80"),
        ("update_domain", "0", "a whole number from 0"),
        ("update_domain", -1, "a whole number from 0"),
        ("update_domain", False, "a whole number from 0"),
        ("fault_domain", 1.5, "a whole number from 0"),
        ("zone", 1, "text"),
        ("addresses", "10.0.0.1", "a list of addresses"),
        ("spot", "no", "true or false"),
        ("paas", 0, "true or false"),
        ("tags", ["a"], "a table of text"),
        ("tags", {"a": 1}, "text"),
        ("size", 4, "text"),
        ("location", [], "text"),
        ("resource_group", {}, "text"),
        ("subscription", 1, "text"),
        ("vm_id", 1, "text"),
        ("size", "x" * 1001, "text of at most 1000"),
    ],
)
def test_a_bad_vm_value_is_refused_with_the_expected_one(
    key: str, value: object, expected: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_fleet({"vms": [{"name": "v", key: value}]}, "fleet.toml")
    assert f"fleet.toml: [[vms]] 1 (v).{key}" in str(refused.value)
    assert f"expected {expected}" in str(refused.value)


@pytest.mark.parametrize("data", [[], "fleet", None, 7])
def test_a_fleet_is_a_table_of_tables(data: object) -> None:
    with pytest.raises(InvalidInput, match="expected tables hosts, groups and vms"):
        read_fleet(data)


@pytest.mark.parametrize("rows", [{"name": "v"}, "v", 7])
def test_vms_are_a_list(rows: object) -> None:
    with pytest.raises(InvalidInput, match=r"expected \[\[vms\]\] tables"):
        read_fleet({"vms": rows})


@pytest.mark.parametrize("row", ["v", 7, ["v"], None])
def test_each_vm_is_a_table(row: object) -> None:
    with pytest.raises(InvalidInput, match=r"\[\[vms\]\] 1: expected a table"):
        read_fleet({"vms": [row]})
