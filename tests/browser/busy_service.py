"""A busy service that has everything the portal can show.

It is always the same: its ids are seeded, and its clock stands at a fixed time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.server.support.service import RunningService, a_service

#: Start time of the service's manual clock.
BEGINNING = "2030-03-04T06:30:00Z"

HOSTS = tuple(f"host-{number}" for number in range(1, 7))

#: The VM whose redeploy fails because no host has room for it.
BROKEN = "mail"

_SEED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class _Group:
    """VMs that share a document, on consecutive hosts."""

    name: str
    kind: str
    size: int
    first: int = 0  # index of the first VM's host
    update_domains: int = 0  # 0 if it has none
    spot: bool = False
    asks: bool = True


_GROUPS = (
    _Group(name="shop", kind="availability-set", size=6, update_domains=3),
    _Group(name="api", kind="availability-set", size=6, update_domains=3),
    _Group(name="orders", kind="availability-set", size=3, update_domains=3),
    _Group(name="search", kind="scale-set", size=9, first=3, update_domains=3),
    _Group(name="render", kind="scale-set", size=10, first=1, spot=True),
    _Group(name="archive", kind="cloud-service", size=4, first=2, asks=False),
    _Group(name="mail", kind="standalone", size=1, first=4),
    _Group(name="build", kind="standalone", size=1, first=5),
)


@contextmanager
def a_busy_service(folder: Path) -> Iterator[RunningService]:
    """Serve a fleet with a lot of maintenance until the block ends."""
    fleet = folder / "lively.toml"
    fleet.write_text(_fleet())
    script = folder / "driver"
    script.write_text(_SCRIPT)
    script.chmod(0o755)
    flags = {"driver": "script", "driver_command": [str(script)], "seed": _SEED}
    with a_service(folder, fleet=str(fleet), **flags) as service:
        _move_to(service, BEGINNING)
        _poll_all(service)
        _create_past(service)
        _poll_all(service)
        _create_present(service)
        yield service


_SCRIPT = f"""\
#!/bin/sh
case $FOREWARN_TYPE:$FOREWARN_VMS in
Redeploy:{BROKEN}) echo "no host has room for {BROKEN}" >&2; exit 1 ;;
esac
"""


# --- maintenance -------------------------------------------------------------


def _create_past(service: RunningService) -> None:
    """Advance by two hours, in which maintenance starts and ends."""
    first = service.announce(type="Freeze", host="host-5", notice_seconds=1800)
    service.advance(600)
    _poll(service, "search-1", "mail")
    _approve(service, first)
    service.advance(900)
    second = service.announce(vms=["search-2"], description="Firmware of its disk.")
    service.advance(300)
    body = {"reason": "The disk is fine."}
    _post(service, f"/v1/maintenances/{second['id']}/cancel", body)
    service.advance(900)
    _post(service, "/v1/vms/build/redeploy")
    service.advance(1200)
    third = service.announce(host="host-4", notice_seconds=1200, duration_seconds=420)
    service.advance(240)
    _poll(service, "shop-3", "api-3", "search-0")
    _approve(service, third)
    service.advance(2100)


def _create_present(service: RunningService) -> None:
    """Create maintenance that is scheduled, blocked, started or stuck."""
    _post(service, "/v1/vms/mail/redeploy")
    wearing = {"fails_by": "2030-03-07T18:00:00Z"}
    _post(service, "/v1/hosts/host-6/degraded", wearing)
    under_way = service.announce(host="host-2", duration_seconds=2400)
    service.advance(180)
    _poll(service, "mail", "shop-1", "api-1", "orders-1", "render-0", "search-4")
    _approve(service, under_way)
    service.advance(240)
    gated = service.announce(vms=["orders-2"], notice_seconds=1500)
    partly = service.announce(host="host-1", notice_seconds=2700, duration_seconds=600)
    service.advance(120)
    _poll(service, "orders-2", "shop-0", "api-0", "orders-0", "render-5")
    _approve(service, gated)
    _approve(service, partly, "shop", "orders")
    service.advance(420)
    service.announce(type="Freeze", host="host-3", notice_seconds=5400)
    _post(service, "/v1/vms/search-6/restart")
    service.advance(60)
    _poll(service, "search-6", "search-7", "api-2")
    _post(service, "/v1/vms/render-8/evict")
    service.advance(9)
    _poll(service, "render-8")
    fault = {"kind": "503", "vms": ["build"], "on": "read"}
    _post(service, "/v1/faults", fault)


# --- requests ----------------------------------------------------------------


def _move_to(service: RunningService, moment: str) -> None:
    _post(service, "/v1/clock/advance", {"to": moment})


def _post(service: RunningService, path: str, body: object = None) -> Any:
    answer = service.request("POST", path, {} if body is None else body)
    assert answer.status in (200, 201), answer.body
    return answer.json


def _poll_all(service: RunningService) -> None:
    """Poll as every VM, except those of groups that never poll."""
    _poll(service, *(vm for group in _GROUPS if group.asks for vm in _vms(group)))


def _poll(service: RunningService, *vms: str) -> None:
    for vm in vms:
        assert service.as_vm(vm).status == 200


def _approve(service: RunningService, maintenance: Any, *groups: str) -> None:
    """Approve as a VM of each of `groups`, or of all groups that poll."""
    asking = [group.name for group in _GROUPS if group.asks]
    for event in maintenance["events"]:
        if event["group"] in (groups or asking):
            service.approve_as(event["resources"][0], event["id"])


# --- the fleet ---------------------------------------------------------------


def _fleet() -> str:
    tables = [f'[[hosts]]\nname = "{host}"\n' for host in HOSTS]
    for group in _GROUPS:
        tables.append(f'[[groups]]\nname = "{group.name}"\nkind = "{group.kind}"\n')
        tables += [
            _vm_table(group, number, vm) for number, vm in enumerate(_vms(group))
        ]
    return "".join(tables)


def _vms(group: _Group) -> Sequence[str]:
    if group.kind == "standalone":
        return [group.name]
    return [f"{group.name}-{number}" for number in range(group.size)]


def _vm_table(group: _Group, number: int, vm: str) -> str:
    host = HOSTS[(group.first + number) % len(HOSTS)]
    table = f'[[vms]]\nname = "{vm}"\ngroup = "{group.name}"\nhost = "{host}"\n'
    if group.update_domains:
        table += f"update_domain = {number % group.update_domains}\n"
    return table + ("spot = true\n" if group.spot else "")
