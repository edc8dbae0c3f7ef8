"""The page on host maintenance, with the whole service and real VMs."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from tests.drivers.scripts import write_script
from tests.end_to_end.program import Program, run, serving, until
from tests.patience import PATIENCE
from tests.programs.installed import needs, run_program
from tests.programs.libvirt_hosts import PROGRAMS, LibvirtHosts
from tests.programs.page import PAGE, copied
from tests.server.support.service import RunningService

pytestmark = [pytest.mark.full, needs(*PROGRAMS, "curl")]

HOW_TO = PAGE.with_name("maintain-a-host.md")
SCRIPTS = Path(__file__).parents[2] / "examples" / "scripts"
LONG = PATIENCE

#: Joins the settings of the page: nothing is waited for that can be done at once.
SWIFT = "lead = 0\n[shown]\nfreeze = 0\nreboot = 0\nredeploy = 0\n"

#: moved.sh, for a service whose address is known only once it runs.
MOVED = """\
export TOKEN_FILE={folder}/token CONTROL=$(cat {folder}/control)
exec {scripts}/moved.sh "$@"
"""

#: Serves the fleet of the page with its settings.
Serve = Callable[[], AbstractContextManager[Program]]


@pytest.fixture
def serve(hosts: LibvirtHosts, tmp_path: Path) -> Iterator[Serve]:
    fleet = copied("Define hosts and VMs", "toml fleet.toml", HOW_TO)
    (tmp_path / "fleet.toml").write_text(fleet)
    settings = copied(
        "Configure the service and the script", "toml forewarn.toml", HOW_TO
    )
    settings = settings.replace("/etc/forewarn", str(SCRIPTS)) + SWIFT
    (tmp_path / "forewarn.toml").write_text(settings)
    (tmp_path / "token").write_text("t")
    moved = MOVED.format(folder=tmp_path, scripts=SCRIPTS)
    write_script(tmp_path / "moved", moved)
    hosts.start("host-a", "web-0", "db-0")
    yield lambda: serving(
        tmp_path,
        "--config",
        "forewarn.toml",
        fleet=tmp_path / "fleet.toml",
        URI=hosts.uri,
        MOVED=str(tmp_path / "moved"),
    )
    hosts.remove("web-0", "db-0")


def run_host_command(program: Program, what: str, *options: str) -> Any:
    """Run a command about host-a and return the resulting maintenance."""
    (maintenance,) = maintenances_of_host(program, what, *options)
    return maintenance


def maintenances_of_host(program: Program, what: str, *options: str) -> list[Any]:
    """Run a command about host-a and return all resulting maintenance operations."""
    words = ("host", what, "host-a", *options, "--json")
    done = run(program.folder, *words, FOREWARN_URL=program.service.control)
    assert done.code == 0, done
    return list(json.loads(done.out)["maintenances"])


def approved_by(service: RunningService, *vms: str) -> None:
    """Approve the events that `vms` see."""
    for vm in vms:
        (event,) = service.document(vm)["Events"]
        assert service.approve_as(vm, event["EventId"]).status == 200


def phase(service: RunningService, made: Any) -> str:
    return str(service.get(f"/v1/maintenances/{made['id']}")["phase"])


def until_over(service: RunningService, made: Any) -> None:
    until(lambda: phase(service, made) == "COMPLETED", LONG)


def is_in(hosts: LibvirtHosts, vm: str, state: str) -> bool:
    return hosts.state("host-a", vm) == state


def has_rebooted(hosts: LibvirtHosts, vm: str, since: int) -> bool:
    return hosts.events(vm).count("reboot") > since


# --- planned maintenance -----------------------------------------------------


def test_vms_are_reset_when_both_groups_have_approved(
    hosts: LibvirtHosts, serve: Serve
) -> None:
    before = {vm: hosts.events(vm).count("reboot") for vm in ("web-0", "db-0")}
    with serve() as program:
        service = program.service
        maintenance = run_host_command(program, "maintain", "--type", "reboot")
        approved_by(service, "web-1")  # for its group, which includes web-0
        assert phase(service, maintenance) == "SCHEDULED"
        approved_by(service, "db-0")
        until_over(service, maintenance)
    for vm, count in before.items():
        until(partial(has_rebooted, hosts, vm, since=count))
        assert hosts.state("host-a", vm) == "running"


def test_vms_are_paused_for_the_duration(hosts: LibvirtHosts, serve: Serve) -> None:
    with serve() as program:
        service = program.service
        maintenance = run_host_command(program, "maintain", "--duration", "2s")
        approved_by(service, "web-0", "db-0")
        until_over(service, maintenance)
    for vm in ("web-0", "db-0"):
        began, ended = hosts.pause_of(vm)
        assert timedelta(seconds=2) <= ended - began < timedelta(seconds=10)


def test_a_redeploy_moves_the_vms_and_updates_the_fleet(
    hosts: LibvirtHosts, serve: Serve, tmp_path: Path
) -> None:
    with serve() as program:
        service = program.service
        (tmp_path / "control").write_text(service.control)
        maintenance = run_host_command(program, "maintain", "--type", "redeploy")
        approved_by(service, "web-0", "db-0")
        until_over(service, maintenance)
        for vm in ("web-0", "db-0"):
            assert hosts.state("host-b", vm) == "running"
            vm_entry = service.get(f"/v1/vms/{vm}")
            assert (vm_entry["host"], len(vm_entry["addresses"])) == ("host-b", 1)


# --- failures ----------------------------------------------------------------


def test_a_retry_continues_with_the_remaining_vms(
    hosts: LibvirtHosts, serve: Serve
) -> None:
    hosts.remove("db-0")
    with serve() as program:
        service = program.service
        maintenance = run_host_command(program, "maintain", "--type", "reboot")
        path = f"/v1/maintenances/{maintenance['id']}"
        approved_by(service, "web-0", "db-0")
        until(lambda: service.get(path)["stuck_since"] is not None, LONG)
        (failed,) = service.facts("WorkFailed")
        assert (failed["vms"], failed["detail"]) == (
            ["db-0"],
            "error: failed to get domain 'db-0'",
        )
        hosts.start("host-a", "db-0")
        assert service.request("POST", f"{path}/retry").status == 200
        until_over(service, maintenance)
        done = [fact["vms"] for fact in service.facts("WorkDone")]
    assert done == [["web-0"], ["db-0"]]


@pytest.mark.parametrize("end", ["complete", "stop", "kill"])
def test_no_vm_stays_paused_when_the_script_is_stopped(
    hosts: LibvirtHosts, serve: Serve, end: str
) -> None:
    with serve() as program:
        service = program.service
        maintenance = run_host_command(program, "maintain", "--duration", "10m")
        approved_by(service, "web-0", "db-0")
        for vm in ("web-0", "db-0"):
            until(partial(is_in, hosts, vm, "paused"), LONG)
        if end == "complete":
            path = f"/v1/maintenances/{maintenance['id']}/complete"
            assert service.request("POST", path).status == 200
        elif end == "stop":
            program.stop()
        else:
            program.kill()
        for vm in ("web-0", "db-0"):
            until(partial(is_in, hosts, vm, "running"), LONG)


# --- a degraded host ---------------------------------------------------------


def test_a_vm_moved_by_hand_is_not_redeployed(
    hosts: LibvirtHosts, serve: Serve, tmp_path: Path
) -> None:
    move = copied("Evacuate a degraded host", "sh move", HOW_TO)
    for host in ("host-a", "host-b"):
        move = move.replace(f"qemu+ssh://root@{host}/system", hosts.at(host))
    move = move.replace("/etc/forewarn/moved.sh", str(tmp_path / "moved"))
    with serve() as program:
        service = program.service
        (tmp_path / "control").write_text(service.control)
        made = maintenances_of_host(program, "degraded", "--fails-by", "3d")
        leaving = {maintenance["vms"][0]: maintenance for maintenance in made}
        assert leaving.keys() == {"web-0", "db-0"}
        for vm in ("web-0", "db-0"):
            assert phase(service, leaving[vm]) == "SCHEDULED"
            text = move.replace("web-0", vm)
            done = run_program(tmp_path, "sh", "-ec", text)
            assert done.code == 0, done
            assert phase(service, leaving[vm]) == "CANCELED"
            assert hosts.state("host-b", vm) == "running"
