"""The Azure SDKs against the running program: restart, wait, approve and read."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ResourceNotFoundError,
)
from azure.core.polling import LROPoller
from tests.end_to_end.azure_sdk import SUBSCRIPTION, Sdk, an_sdk
from tests.end_to_end.program import environment_of, finish, serving, until
from tests.patience import PATIENCE
from tests.server.support.certificates import CertificateAuthority
from tests.server.support.service import RunningService, a_service

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-the-azure-sdks.md"
FLEET = f"""
[[groups]]
name = "web"
kind = "availability-set"
enabled = "always"
[[groups]]
name = "pool"
kind = "scale-set"
enabled = "always"
terminate_notice_seconds = 300
[[groups]]
name = "spare"
kind = "scale-set"
enabled = "always"
[[vms]]
name = "web-0"
group = "web"
update_domain = 0
location = "westeurope"
resource_group = "rg"
subscription = "{SUBSCRIPTION}"
[[vms]]
name = "web-1"
group = "web"
update_domain = 1
[[vms]]
name = "pool_0"
group = "pool"
[[vms]]
name = "pool_1"
group = "pool"
[[vms]]
name = "pool_2"
group = "pool"
[[vms]]
name = "spare_0"
group = "spare"
spot = true
eviction_policy = "deallocate"
[[vms]]
name = "lone"
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Run the program with a manual clock."""
    folder = tmp_path_factory.mktemp("sdk")
    with serving(folder, "--clock", "manual", fleet=FLEET) as program:
        yield program.service


@pytest.fixture
def sdk(service: RunningService) -> Iterator[Sdk]:
    with an_sdk(service) as clients:
        yield clients


def statuses(sdk: Sdk) -> list[str]:
    """Return the status in each poll response, in order."""
    return [json.loads(body)["status"] for body in sdk.polled if body]


def wait_for(poller: LROPoller[Any]) -> Any:
    result = poller.result(PATIENCE)
    assert poller.done(), "it never ended"
    return result


def approve_all(service: RunningService, vm: str) -> None:
    """Approve all events that `vm` sees, and advance until they are over."""
    events = [event["EventId"] for event in service.document(vm)["Events"]]
    assert service.approve_as(vm, *events).status == 200
    service.advance(10)
    assert service.document(vm)["Events"] == []


def test_a_restart_returns_exactly_when_the_event_is_over(
    sdk: Sdk, service: RunningService
) -> None:
    poller = sdk.compute.virtual_machines.begin_restart("rg", "web-0")
    (event,) = service.document("web-1")["Events"]
    assert (event["EventType"], event["Resources"]) == ("Reboot", ["web-0"])
    until(lambda: statuses(sdk) == ["InProgress"])
    assert not poller.done()
    approve_all(service, "web-1")
    assert wait_for(poller) is None
    assert statuses(sdk)[-1] == "Succeeded"


@pytest.mark.full
def test_a_deletion_is_over_when_the_vm_is_gone(
    sdk: Sdk, service: RunningService
) -> None:
    members = sdk.compute.virtual_machine_scale_set_vms
    poller = members.begin_delete("rg", "pool", "2")
    (event,) = service.document("pool_0")["Events"]
    assert (event["EventType"], event["Resources"]) == ("Terminate", ["pool_2"])
    assert members.get("rg", "pool", "2").instance_id == "2"
    service.advance(6 * 60)
    wait_for(poller)
    with pytest.raises(ResourceNotFoundError):
        members.get("rg", "pool", "2")


@pytest.mark.full
def test_a_spot_vm_is_evicted_and_started(sdk: Sdk, service: RunningService) -> None:
    machines = sdk.compute.virtual_machines
    assert machines.get("rg", "spare_0").eviction_policy == "Deallocate"
    machines.simulate_eviction("rg", "spare_0")
    (event,) = service.document("spare_0")["Events"]
    assert event["EventType"] == "Preempt"
    approve_all(service, "spare_0")
    service.advance(60)
    assert power_of(sdk) == "PowerState/deallocated"
    assert wait_for(machines.begin_start("rg", "spare_0")) is None
    assert power_of(sdk) == "PowerState/running"


def power_of(sdk: Sdk) -> str | None:
    view = sdk.compute.virtual_machines.instance_view("rg", "spare_0")
    assert view.statuses is not None
    return view.statuses[1].code


@pytest.mark.full
def test_a_vm_of_a_scale_set_is_restarted_and_read(
    sdk: Sdk, service: RunningService
) -> None:
    members = sdk.compute.virtual_machine_scale_set_vms
    poller = members.begin_restart("rg", "pool", "1")
    (event,) = service.document("pool_0")["Events"]
    assert event["Resources"] == ["pool_1"]
    approved = sdk.maintenance.scheduled_events.acknowledge(
        "rg", "virtualMachineScaleSets", "pool", event["EventId"]
    )
    assert approved.value == "Successfully Approved"
    view = members.get_instance_view("rg", "pool", "1")
    assert view.statuses is not None
    assert view.statuses[0].code == "ProvisioningState/updating"
    service.advance(10)
    wait_for(poller)
    assert [member.instance_id for member in members.list("rg", "pool")][:2] == [
        "0",
        "1",
    ]


@pytest.mark.full
def test_several_vms_of_a_scale_set_are_restarted_at_once(
    sdk: Sdk, service: RunningService
) -> None:
    ids: Any = {"instanceIds": ["0", "1"]}
    poller = sdk.compute.virtual_machine_scale_sets.begin_restart("rg", "pool", ids)
    events = service.document("pool_0")["Events"]
    assert [event["Resources"] for event in events] == [["pool_0"], ["pool_1"]]
    approve_all(service, "pool_1")
    wait_for(poller)


def test_events_are_approved_by_the_sdk_one_by_one(
    sdk: Sdk, service: RunningService
) -> None:
    event = service.announce(vms=["web-0"])["events"][0]["id"]
    approved = sdk.maintenance.scheduled_events.acknowledge(
        "rg", "virtualMachines", "web-1", event
    )
    assert approved.value == "Successfully Approved"
    assert service.get(f"/v1/events/{event}")["approved_via"] == "arm"
    service.advance(10)
    with pytest.raises(HttpResponseError) as late:
        sdk.maintenance.scheduled_events.acknowledge(
            "rg", "virtualMachines", "web-1", event
        )
    assert late.value.status_code == 409
    assert code_of(late) == "Conflict"


@pytest.mark.full
def test_a_partly_invalid_list_reports_what_failed(
    sdk: Sdk, service: RunningService
) -> None:
    good = service.announce(vms=["lone"])["events"][0]["id"]
    with pytest.raises(HttpResponseError) as mixed:
        sdk.maintenance.scheduled_events.acknowledge_list(
            "rg", "virtualMachines", "lone", {"value": [SUBSCRIPTION, good]}
        )
    assert mixed.value.status_code == 207
    model: Any = mixed.value.model
    assert model.error.code == "MultiStatusResponse"
    details = [(detail.target, detail.code) for detail in model.error.details]
    assert details == [(SUBSCRIPTION, "NotFound")]
    assert service.get(f"/v1/events/{good}")["status"] == "Started"


@pytest.mark.full
def test_refusals_raise_sdk_errors(sdk: Sdk, service: RunningService) -> None:
    machines = sdk.compute.virtual_machines
    with pytest.raises(ResourceNotFoundError) as unknown:
        machines.begin_restart("rg", "nobody")
    assert code_of(unknown) == "ResourceNotFound"
    with pytest.raises(ResourceNotFoundError):
        machines.get("other", "web-0")
    with pytest.raises(HttpResponseError) as refused:
        machines.simulate_eviction("rg", "web-0")
    assert refused.value.status_code == 409
    assert code_of(refused) == "OperationNotAllowed"
    stranger = RunningService(metadata="", control=service.control, token="wrong")
    with an_sdk(stranger) as other, pytest.raises(ClientAuthenticationError) as wrong:
        other.compute.virtual_machines.get("rg", "web-0")
    assert code_of(wrong) == "AuthenticationFailed"


def code_of(raised: pytest.ExceptionInfo[HttpResponseError]) -> str | None:
    assert raised.value.error is not None
    return raised.value.error.code


@pytest.mark.full
def test_a_canceled_operation_raises_an_sdk_error(
    sdk: Sdk, service: RunningService
) -> None:
    poller = sdk.compute.virtual_machines.begin_restart("rg", "web-0")
    (event,) = service.document("web-0")["Events"]
    cancel = f"/v1/maintenances/{event['EventId']}/cancel"
    assert service.request("POST", cancel).status == 200
    with pytest.raises(HttpResponseError) as canceled:
        poller.result(PATIENCE)
    assert code_of(canceled) == "OperationCanceled"


@pytest.mark.full
def test_the_sdk_reads_vms_and_sets(sdk: Sdk) -> None:
    machines = sdk.compute.virtual_machines
    vm = machines.get("rg", "web-0", expand="instanceView")
    assert (vm.name, vm.location) == ("web-0", "westeurope")
    assert vm.instance_view is not None
    assert vm.instance_view.platform_update_domain == 0
    named = [machine.name for machine in machines.list("rg")]
    assert {"web-0", "web-1", "lone"} <= {*named}
    assert [machine.name for machine in machines.list_all()] == named
    pool = sdk.compute.virtual_machine_scale_sets.get("rg", "pool")
    assert pool.virtual_machine_profile is not None
    profile = pool.virtual_machine_profile.scheduled_events_profile
    assert profile is not None
    assert profile.terminate_notification_profile is not None
    assert profile.terminate_notification_profile.not_before_timeout == "PT5M"
    web = sdk.compute.availability_sets.get("rg", "web")
    assert web.platform_update_domain_count == 2


@pytest.mark.full
def test_the_program_in_the_docs_works_unchanged(tmp_path: Path) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    # The clock is so fast that 15 minutes pass in a quarter of a second.
    with serving(tmp_path, "--clock", "x3600", FOREWARN_SHOWN_REBOOT="0") as running:
        where = {"FOREWARN_URL": running.service.control}
        environment = environment_of(tmp_path, **where)
        done = finish([sys.executable, "-c", program], tmp_path, environment)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert "web-0 westeurope Succeeded" in lines
    assert lines[-2:] == ["restart: InProgress", "restart: Succeeded"]


def test_over_tls_the_sdks_need_only_a_credential(tmp_path: Path) -> None:
    authority = CertificateAuthority(tmp_path)
    fleet = tmp_path / "alone.toml"
    fleet.write_text('[[vms]]\nname = "lone"\n')
    options = {"clock": "system", "fleet": str(fleet), "shown_reboot": "1"}
    with (
        a_service(tmp_path, **options, **authority.sign("127.0.0.1").flags) as service,
        an_sdk(service, connection_verify=authority.file) as sdk,
    ):
        assert service.control.startswith("https:")
        wait_for(sdk.compute.virtual_machines.begin_restart("rg", "lone"))
        with pytest.raises(ResourceNotFoundError):
            sdk.maintenance.scheduled_events.acknowledge(
                "rg", "virtualMachines", "lone", SUBSCRIPTION
            )
