"""Tests of `forewarn vm list`, `vm show`, `host list` and `host show`."""

from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, E2, Json, a_maintenance, a_vm, an_event, page
from tests.cli.support.service import Service


def a_status(**changed: object) -> Json:
    vm = a_vm("web-0", group="web", host="host-a", update_domain=0)
    status: Json = {
        "vm": {**vm, "addresses": ["10.0.0.1"], "spot": True},
        "is_disabled": False,
        "group_last_request": "2026-01-01T11:59:59Z",
        "last_request": "2026-01-01T11:55:00Z",
        "limits": None,
        "maintenances": [],
    }
    return {**status, **changed}


def lines_of(text: str) -> list[str]:
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_vms_are_listed_by_group_and_host(service: Service, run: Cli) -> None:
    vms = [a_vm("web-0", group="web", host="host-a"), a_vm("web-1", group="web")]
    service.respond("GET", "/v1/vms", page(*vms))
    assert run("vm list --group web --host host-a -o name") == "web-0\nweb-1\n"
    assert {("group", "web"), ("host", "host-a")} <= {*service.only("GET").query}
    assert lines_of(run("vm list --no-headers")) == [
        "web-0  web    host-a",
        "web-1  web",
    ]


def test_vm_is_shown_with_its_own_events(service: Service, run: Cli) -> None:
    events = [
        an_event(resources=["web-1"]),
        an_event(id=E2, resources=["web-0"]),
    ]
    maintenance = a_maintenance(id="m-17", events=events)
    limits = {
        "name": "web-0",
        "refused": 3,
        "limits": {"rate": 3},
        "last": "2026-01-01T11:58:00Z",
    }
    status = a_status(maintenances=[maintenance], limits=limits)
    service.respond("GET", "/v1/vms/web-0/status", status)
    assert lines_of(run("vm show web-0")) == [
        "  VM         web-0",
        "  group      web (update domain 0)",
        "  host       host-a",
        "  addresses  10.0.0.1",
        "  settings   spot",
        "  events     enabled (last poll of the group: 2026-01-01 11:59:59Z (1 s ago))",
        "  last poll  2026-01-01 11:55:00Z (5 min ago)",
        "  limited    3 rejections (rate 3), most recently 2 min ago",
        "",
        "ID    TYPE    PHASE      WHEN       EVENT",
        f"m-17  Reboot  SCHEDULED  in 15 min  {E2}",
    ]


def test_idle_vm_is_shown_without_maintenance(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/vms/web-0/status", a_status(last_request=None))
    lines = lines_of(run("vm show web-0"))
    assert "  last poll  never" in lines
    assert lines[-1] == "no scheduled or started maintenance"


def test_hosts_are_listed_with_their_vms_and_maintenance(
    service: Service, run: Cli
) -> None:
    fleet = {"hosts": ["host-a", "host-b"], "vms": {"host": [0, 0, 1, None]}}
    service.respond("GET", "/v1/fleet/map", fleet)
    failed = a_maintenance(id="m-3", host="host-b", phase="STARTED")
    service.respond("GET", "/v1/maintenances", page(failed, a_maintenance()))
    assert lines_of(run("host list")) == [
        "HOST    VMS  MAINTENANCE",
        "host-a  2",
        "host-b  1    Reboot STARTED (m-3)",
    ]
    assert run("host list -o name") == "host-a\nhost-b\n"


def test_host_is_shown_with_its_vms_and_their_maintenance(
    service: Service, run: Cli
) -> None:
    status = {
        "host": {"name": "host-a"},
        "vms": [a_vm("web-0", group="web", host="host-a")],
        "maintenances": [
            a_maintenance(
                id="m-3",
                host="host-a",
                phase="STARTED",
                started_at="2026-01-01T11:50:00Z",
            )
        ],
    }
    service.respond("GET", "/v1/hosts/host-a/status", status)
    assert lines_of(run("host show host-a")) == [
        "  host  host-a",
        "  VMs   1",
        "",
        "VM     GROUP  HOST",
        "web-0  web    host-a",
        "",
        "ID   TYPE    PHASE    WHEN        VMS",
        "m-3  Reboot  STARTED  10 min ago  web-0, web-1",
    ]
    assert E1 in run("host show host-a -o wide")
