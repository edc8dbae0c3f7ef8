"""Programs that read the instance metadata of their machine."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.programs.deployment import Deployment
from tests.programs.installed import NODE_MODULES, needs, node_module, package_file

pytestmark = pytest.mark.full

NO_MAC = pytest.mark.xfail(reason="the fleet file has no MAC addresses")

#: Reads the instance as the datasource does at boot, and generates network settings.
CLOUD_INIT = """
import json
from cloudinit.sources import DataSourceAzure as azure
found = azure.get_metadata_from_imds(retries=0, api_version=azure.IMDS_VER_WANT)
set_up = azure.generate_network_config_from_instance_network_metadata
print(json.dumps([found, set_up(found["network"])]))
"""

#: Reads and validates the instance as the agent's health check does.
WAAGENT = """
import json
from azurelinuxagent.common.protocol.imds import get_imds_client
client = get_imds_client("127.0.0.1")
print(json.dumps([vars(client.get_compute()), client.validate()]))
"""

#: Prints the labels of this machine's traces and metrics.
OPENTELEMETRY = """
from opentelemetry.resource.detector.azure.vm import AzureVMResourceDetector
print(AzureVMResourceDetector().detect().to_json())
"""

OPENTELEMETRY_JS = """
const { azureVmDetector } = require("@opentelemetry/resource-detector-azure");
const { attributes } = azureVmDetector.detect();
const settled = Object.entries(attributes).map(async ([k, v]) => [k, await v]);
Promise.all(settled).then((all) => {
  console.log(JSON.stringify({ attributes: Object.fromEntries(all) }));
});
"""

#: Looks for the region; the login host, which is unreachable, is faked.
MSAL = """
import json, msal, requests
class Answer:
    status_code, headers = 200, {}
    def __init__(self, **answer): self.text = json.dumps(answer)
    def raise_for_status(self): pass
class Http:
    def get(self, url, **more):
        if url.startswith("http://169.254.169.254/"):
            return requests.get(url, **more)
        at = url.partition("/v2.0/")[0]
        return Answer(issuer=at, authorization_endpoint=at, token_endpoint=at)
    def post(self, url, **more):
        print(url)
        return Answer(error="played")
    def close(self): pass
msal.ConfidentialClientApplication(
    "client", client_credential="secret", http_client=Http(), instance_discovery=False,
    authority="https://login.microsoftonline.com/t",
    azure_region=msal.ConfidentialClientApplication.ATTEMPT_REGION_DISCOVERY,
).acquire_token_for_client(["https://example.org/.default"])
"""


def python(deployment: Deployment, script: str, path: Path | None = None) -> str:
    """Run `script` on db-0, with `path` as import path."""
    more = {} if path is None else {"PYTHONPATH": str(path)}
    done = deployment.on("db-0", sys.executable, "-c", script, **more)
    assert done.code == 0, done.err
    return done.out


def assert_labels(found: Any) -> None:
    labels = found["attributes"]
    assert labels["cloud.provider"] == "azure"
    assert labels["cloud.region"] == "westeurope"
    assert labels["host.name"] == "db-0"
    assert labels["host.type"] == "Standard_E4s_v5"
    assert labels["cloud.resource_id"].endswith("/virtualMachines/db-0")
    assert labels["host.id"] == "5d9cd5a1-4a0c-4a7d-8ba1-7b2a3f6f2d10"
    assert labels["azure.vm.sku"] == ""


def test_cloud_init_reads_the_instance(deployment: Deployment) -> None:
    path = package_file("cloud-init", "usr/lib/python3/dist-packages")
    metadata, _ = json.loads(python(deployment, CLOUD_INIT, path))
    assert metadata["compute"]["osProfile"]["computerName"] == "db-0"
    (interface,) = metadata["network"]["interface"]
    (address,) = interface["ipv4"]["ipAddress"]
    assert address["privateIpAddress"] == "10.77.0.10"


@NO_MAC
def test_cloud_init_identifies_the_interface(deployment: Deployment) -> None:
    path = package_file("cloud-init", "usr/lib/python3/dist-packages")
    _, settings = json.loads(python(deployment, CLOUD_INIT, path))
    assert settings["ethernets"]["eth0"]["match"]["macaddress"]


def test_waagent_reads_the_instance(deployment: Deployment) -> None:
    path = package_file("waagent", "usr/lib/python3/dist-packages")
    compute, _ = json.loads(python(deployment, WAAGENT, path))
    assert (compute["name"], compute["tags"]) == ("db-0", "role:db")
    assert None not in compute.values()


@NO_MAC
def test_waagent_finds_the_endpoint_healthy(deployment: Deployment) -> None:
    path = package_file("waagent", "usr/lib/python3/dist-packages")
    _, verdict = json.loads(python(deployment, WAAGENT, path))
    assert verdict == [True, ""]


@needs("ohai")
@pytest.mark.parametrize(
    ("machine", "address"),
    [("db-0", "10.77.0.10"), ("db-1", "10.77.0.11")],
)
def test_ohai_discovers_a_version(
    deployment: Deployment, machine: str, address: str
) -> None:
    folder = deployment.program.folder
    (folder / "azure.json").write_text("{}")  # the hint that this is an Azure machine
    (folder / "client.rb").write_text(f'ohai.hints_path = ["{folder}"]\n')
    done = deployment.on(machine, "ohai", "azure", "-c", str(folder / "client.rb"))
    metadata = json.loads(done.out)["metadata"]
    assert metadata["compute"]["name"] == machine
    assert metadata["network"]["local_ipv4"] == [address]


def test_opentelemetry_labels_the_machine(deployment: Deployment) -> None:
    resource: Any = None
    for _ in range(5):  # its timeout of 0.2 s may be too short on a busy machine
        resource = json.loads(python(deployment, OPENTELEMETRY))
        if "host.name" in resource["attributes"]:
            break
    assert_labels(resource)


@needs("node")
def test_opentelemetry_in_node_labels_the_machine(deployment: Deployment) -> None:
    node_module("@opentelemetry/resource-detector-azure")
    modules = {"NODE_PATH": str(NODE_MODULES)}
    done = deployment.on("db-0", "node", "-e", OPENTELEMETRY_JS, **modules)
    assert done.code == 0, done.err
    assert_labels(json.loads(done.out))


def test_msal_finds_the_region(deployment: Deployment) -> None:
    assert python(deployment, MSAL).startswith(
        "https://westeurope.login.microsoft.com/"
    )
