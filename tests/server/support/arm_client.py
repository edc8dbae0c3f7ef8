"""ARM client for tests: requests like those of the Azure SDKs, without an SDK."""

from pathlib import Path
from typing import Any

from tests.server.support.service import ReceivedResponse, RunningService

SUBSCRIPTION = "5ab5c419-1b63-4bd6-b2b1-93b2f4b5f5d8"
COMPUTE = f"/subscriptions/{SUBSCRIPTION}/resourceGroups/rg/providers/Microsoft.Compute"
VMS = f"{COMPUTE}/virtualMachines"
SETS = f"{COMPUTE}/virtualMachineScaleSets"
VERSION = "api-version=2024-07-01"

#: Only web and pool define subscription and resource group; pool gives notice of
#: deletions.
FLEET = f"""
[[hosts]]
name = "host-a"
[[groups]]
name = "web"
kind = "availability-set"
enabled = "always"
auto_approve = ["user-redeploy"]
[[groups]]
name = "pool"
kind = "scale-set"
enabled = "always"
terminate_notice_seconds = 330
[[groups]]
name = "apart"
kind = "scale-set"
enabled = "always"
isolated = true
[[groups]]
name = "empty"
kind = "scale-set"
[[vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
fault_domain = 1
size = "Standard_D2s_v5"
location = "westeurope"
resource_group = "RG"
subscription = "{SUBSCRIPTION}"
vm_id = "8d1c0ba2-5d16-4a20-b2d3-6f1c2b6f1e11"
zone = "2"
os = "windows"
tags = {{ role = "web" }}
[[vms]]
name = "web-1"
group = "web"
update_domain = 1
resource_group = "RG"
subscription = "{SUBSCRIPTION}"
[[vms]]
name = "pool_0"
group = "pool"
resource_group = "RG"
subscription = "{SUBSCRIPTION}"
size = "Standard_F4s_v2"
zone = "1"
[[vms]]
name = "pool_1"
group = "pool"
spot = true
resource_group = "RG"
subscription = "{SUBSCRIPTION}"
[[vms]]
name = "apart_0"
group = "apart"
[[vms]]
name = "apart_1"
group = "apart"
[[vms]]
name = "lone"
"""


def a_fleet(folder: Path) -> str:
    """Write the fleet to a file and return its path."""
    file = folder / "arm.toml"
    file.write_text(FLEET)
    return str(file)


def arm(
    service: RunningService,
    method: str,
    path: str,
    body: object = None,
    *,
    raw: bytes | None = None,
    **headers: str,
) -> ReceivedResponse:
    """Send a request below /subscriptions; add an api-version if there is no query."""
    full = path if "?" in path else f"{path}?{VERSION}"
    return service.request(method, full, body, raw=raw, **headers)


def read_resource(service: RunningService, path: str) -> Any:
    """Return a resource, which must exist."""
    answer = arm(service, "GET", path)
    assert answer.status == 200, answer.body
    return answer.json


def error_of(answer: ReceivedResponse) -> tuple[int, str]:
    """Return status and code of an error, which must be in ARM format."""
    assert answer.headers.get_content_type() == "application/json", answer.body
    assert answer.headers["x-ms-request-id"]
    assert answer.json.keys() == {"error"}
    error = answer.json["error"]
    assert error["message"]
    return answer.status, str(error["code"])


def event_of(service: RunningService, vm: str) -> str:
    """Return the id of the last event that `vm` sees."""
    return str(service.document(vm)["Events"][-1]["EventId"])
