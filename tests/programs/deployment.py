"""The service on 169.254.169.254:80, and machines that reach it over a link."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.program import (
    FOREWARN,
    FinishedCommand,
    Program,
    environment_of,
    finish,
    serving,
)
from tests.programs.installed import run_program
from tests.programs.network import ENDPOINT, ENDPOINT_6, HAS_IPV6, Network, a_network

URL = f"http://{ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01"

#: Two databases in an availability set, and a standalone machine.
FLEET = """\
[[hosts]]
name = "host-a"
[[groups]]
name = "db"
kind = "availability-set"
[[vms]]
name = "db-0"
group = "db"
host = "host-a"
update_domain = 0
fault_domain = 0
addresses = ["10.77.0.10", "fd00:77::10"]
location = "westeurope"
resource_group = "demo"
size = "Standard_E4s_v5"
subscription = "00000000-0000-0000-0000-000000000000"
vm_id = "5d9cd5a1-4a0c-4a7d-8ba1-7b2a3f6f2d10"
tags = { role = "db" }
[[vms]]
name = "db-1"
group = "db"
update_domain = 1
addresses = ["10.77.0.11"]
location = "westeurope"
[[vms]]
name = "lone"
addresses = ["10.77.0.12"]
"""

_MACHINES: Mapping[str, tuple[str, ...]] = {
    "db-0": ("10.77.0.10", "fd00:77::10"),
    "db-1": ("10.77.0.11",),
    "lone": ("10.77.0.12",),
    "stranger": ("10.77.0.99",),  # in no fleet
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A running service, its machines, and its operator."""

    network: Network
    program: Program

    def on(
        self, machine: str, *words: str, typed: str = "", **more: str
    ) -> FinishedCommand:
        """Run a program on a machine."""
        within = self.network.machines[machine].within
        folder = self.program.folder
        return run_program(folder, *words, within=within, typed=typed, **more)

    def forewarn(self, *words: str) -> str:
        """Run an operator's command, which must succeed."""
        folder, control = self.program.folder, self.program.service.control
        command = (*self.network.service.within, *FOREWARN, *words, "--json")
        environment = environment_of(folder, FOREWARN_URL=control)
        done = finish(command, folder, environment)
        assert done.code == 0, done.err
        return done.out

    def announce(self, kind: str, vm: str) -> str:
        """Announce maintenance of one VM and return the event's id."""
        created = json.loads(self.forewarn("announce", kind, "--vm", vm))
        ((event,),) = (operation["events"] for operation in created["maintenances"])
        return str(event["id"])

    def facts(self) -> list[Any]:
        """Read the journal."""
        return [json.loads(line) for line in self.forewarn("journal").splitlines()]


@contextmanager
def a_deployment(folder: Path, *options: str) -> Iterator[Deployment]:
    """Serve on the endpoint's real address, in a namespace, until the block ends."""
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET)
    listening = [f"{ENDPOINT}:80", *([f"[{ENDPOINT_6}]:80"] if HAS_IPV6 else [])]
    with (
        a_network(_MACHINES) as network,
        serving(
            folder,
            *options,
            fleet=fleet,
            metadata=listening,
            within=network.service.within,
        ) as program,
    ):
        yield Deployment(network=network, program=program)
