"""The api-versions: their content, and which are refused (3)."""

import re

import pytest
from tests.conformance.facts import fact, read_facts
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import EVENTS, VERSIONS, VM

OF_INSTANCE = tuple(re.findall(r"\d{4}-\d\d-\d\d", read_facts()["3.2a"].text))
ONLY_EVENTS = ("2017-11-01", "2019-01-01", "2019-04-01", "2020-07-01")

FIRST = {"Freeze", "Reboot", "Redeploy"}
SINCE = {"Preempt": "2017-11-01", "Terminate": "2019-01-01"}
FIELDS = {
    "Description": "2019-04-01",
    "EventSource": "2019-08-01",
    "DurationInSeconds": "2020-07-01",
}
ALWAYS = {
    "EventId",
    "EventStatus",
    "EventType",
    "ResourceType",
    "Resources",
    "NotBefore",
}


def one_of_each(fleet: TemporaryFleet) -> VM:
    """Announce an event of every type for one VM."""
    (vm, _) = fleet.group()
    for event_type in (*FIRST, *SINCE):
        fleet.announce(event_type, vm)
    return vm


def types(vm: VM, version: str) -> set[str]:
    return {event["EventType"] for event in vm.events(version)}


@fact("3.0a")
@pytest.mark.parametrize("version", VERSIONS)
def test_each_of_the_seven_versions_is_supported(vm: VM, version: str) -> None:
    assert vm.get(version=version).status == 200


@fact("3.0b")
def test_2017_03_01_supports_freeze_reboot_and_redeploy(fleet: TemporaryFleet) -> None:
    assert types(one_of_each(fleet), "2017-03-01") == FIRST


@fact("3.0c")
def test_2017_08_01_has_names_without_an_underscore(fleet: TemporaryFleet) -> None:
    vm = fleet.add_standalone_vm()
    fleet.announce("Reboot", vm)
    assert vm.event("2017-08-01")["Resources"] == [vm.name]


@fact("3.0d")
def test_2017_11_01_adds_preempt(fleet: TemporaryFleet) -> None:
    assert types(one_of_each(fleet), "2017-11-01") == FIRST | {"Preempt"}


@fact("3.0e")
@pytest.mark.parametrize("version", VERSIONS[3:])
def test_from_2019_01_01_on_all_five_event_types_are_visible(
    fleet: TemporaryFleet, version: str
) -> None:
    assert types(one_of_each(fleet), version) == FIRST | {"Preempt", "Terminate"}


@fact("3.0f")
def test_2019_04_01_adds_the_description(notified_vm: VM) -> None:
    assert notified_vm.events("2019-04-01")[0].keys() == ALWAYS | {"Description"}


@fact("3.0g")
def test_2019_08_01_adds_the_source(notified_vm: VM) -> None:
    keys = notified_vm.events("2019-08-01")[0].keys()
    assert keys == ALWAYS | {"Description", "EventSource"}


@fact("3.0h")
def test_2020_07_01_adds_the_duration(notified_vm: VM) -> None:
    assert notified_vm.events("2020-07-01")[0].keys() == ALWAYS | FIELDS.keys()


@fact("3.1a")
@pytest.mark.parametrize("target", [EVENTS, f"{EVENTS}?", f"{EVENTS}?api-version="])
def test_a_request_without_a_version_is_rejected(vm: VM, target: str) -> None:
    assert vm.send(target).status == 400


@fact("3.1b")
@pytest.mark.parametrize("version", ["2000-01-01", "2017-03-1", "2020-07-01x", "1"])
def test_an_unsupported_version_is_rejected(vm: VM, version: str) -> None:
    assert vm.get(version=version).status == 400


@fact("3.2a")
@pytest.mark.parametrize("version", OF_INSTANCE)
def test_instance_metadata_has_its_own_versions(vm: VM, version: str) -> None:
    assert vm.send(f"/metadata/instance?api-version={version}").status == 200


@fact("3.2b")
@pytest.mark.parametrize("version", sorted(set(OF_INSTANCE) - set(VERSIONS)))
def test_scheduled_events_rejects_instance_metadata_versions(
    vm: VM, version: str
) -> None:
    assert vm.get(version=version).status == 400


@fact("3.2c")
@pytest.mark.parametrize("version", ONLY_EVENTS)
def test_instance_metadata_rejects_scheduled_events_versions(
    vm: VM, version: str
) -> None:
    assert vm.send(f"/metadata/instance?api-version={version}").status == 400


@fact("3.4a")
@pytest.mark.parametrize("version", VERSIONS[:3])
def test_before_2019_01_01_a_terminate_is_hidden(
    fleet: TemporaryFleet, version: str
) -> None:
    vm, _ = fleet.announce_to_vm("Terminate")
    assert vm.events(version) == []


@fact("3.4b")
@pytest.mark.parametrize("version", VERSIONS[:2])
def test_before_2017_11_01_a_preempt_is_hidden(
    fleet: TemporaryFleet, version: str
) -> None:
    vm, _ = fleet.announce_to_vm("Preempt")
    assert vm.events(version) == []


@fact("3.4c")
@pytest.mark.parametrize("type", ["Preempt", "Terminate"])
def test_a_hidden_event_still_changes_the_incarnation(
    fleet: TemporaryFleet, type: str
) -> None:
    (vm, _) = fleet.group()
    assert vm.document("2017-03-01")["DocumentIncarnation"] == 0
    fleet.announce(type, vm)
    seen = {vm.document(version)["DocumentIncarnation"] for version in VERSIONS}
    assert seen == {1}


@fact("3.5")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_version_has_its_own_fields_and_no_newer_fields(
    notified_vm: VM, version: str
) -> None:
    added = {name for name, since in FIELDS.items() if since <= version}
    for event in notified_vm.events(version):
        assert event.keys() == ALWAYS | added
