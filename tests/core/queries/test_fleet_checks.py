"""Checks of the fleet: what each one finds, and what it leaves alone."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from tests.core.support.builders import HOUR, MINUTE, NOON, a_group, a_vm

from forewarn.core.fleet import VM, Enabling, Group
from forewarn.core.outages import Outage
from forewarn.core.queries.fleet_checks import (
    NAMED,
    CheckedFleet,
    CheckedVm,
    FleetCheck,
    check_fleet,
)

DAY = 24 * HOUR


def polled(vm: VM, last_request: datetime | None = NOON) -> CheckedVm:
    return CheckedVm(vm=vm, last_request=last_request)


def checks(
    *vms: CheckedVm,
    groups: tuple[Group, ...] | None = None,
    hosts: int | None = 0,
    started_at: datetime = NOON - DAY,
    outages: tuple[Outage, ...] = (),
    is_open: bool = True,
) -> dict[str, list[str]]:
    """Return the names that each check found."""
    names = dict.fromkeys(item.vm.group for item in vms)
    fleet = CheckedFleet(
        hosts=hosts,
        groups=groups if groups is not None else tuple(map(a_group, names)),
        vms=vms,
    )
    findings = check_fleet(
        fleet, NOON, started_at=started_at, outages=outages, is_open=is_open
    )
    return {
        finding.check: [item.name for item in finding.items] for finding in findings
    }


def test_healthy_fleet_has_no_findings() -> None:
    vms = [polled(a_vm(f"web-{n}", group="web", update_domain=n)) for n in range(3)]
    assert checks(*vms) == {}


def test_group_without_vms_is_not_also_disabled() -> None:
    group = a_group("idle", enabled=Enabling.ON_DEMAND)
    assert checks(groups=(group,)) == {FleetCheck.GROUP_WITHOUT_VMS: ["idle"]}


def test_group_is_disabled_after_a_day_without_outages() -> None:
    group = replace(a_group("web", enabled=Enabling.ON_DEMAND), last_request=NOON - DAY)
    vm = polled(a_vm(group="web"), None)
    outage = Outage(since=NOON - HOUR, until=NOON - MINUTE)
    assert checks(vm, groups=(group,)) == {FleetCheck.GROUP_DISABLED: ["web"]}
    assert FleetCheck.GROUP_DISABLED not in checks(
        vm, groups=(group,), outages=(outage,)
    )


@pytest.mark.parametrize(
    ("first", "second", "is_found"),
    [
        ({"update_domain": 0}, {"update_domain": 0}, True),
        ({"update_domain": None}, {"update_domain": None}, True),
        ({"update_domain": 0}, {"update_domain": 1}, False),
        ({"update_domain": 0}, {"update_domain": 0, "spot": True}, False),
        ({"update_domain": 0}, {"update_domain": 0, "deallocated": True}, False),
    ],
)
def test_vms_in_one_update_domain_are_found(
    first: dict[str, Any], second: dict[str, Any], is_found: bool
) -> None:
    vms = [
        replace(a_vm(f"vm{n}"), **fields) for n, fields in enumerate((first, second))
    ]
    found = checks(*map(polled, vms))
    assert (FleetCheck.ONE_UPDATE_DOMAIN in found) is is_found


def test_vms_need_hosts_only_in_a_fleet_with_hosts() -> None:
    vms = [polled(a_vm("a", host="h")), polled(a_vm("b", update_domain=1))]
    assert checks(*vms, hosts=1) == {FleetCheck.VM_WITHOUT_HOST: ["b"]}
    for hosts in (0, None):
        assert checks(*vms, hosts=hosts) == {}


def test_vms_need_addresses_unless_the_plane_is_open() -> None:
    vms = [
        polled(replace(a_vm("a"), addresses=("192.0.2.1",))),
        polled(a_vm("b", update_domain=1)),
    ]
    assert checks(*vms, is_open=False) == {FleetCheck.VM_WITHOUT_ADDRESS: ["b"]}
    assert checks(*vms) == {}


@pytest.mark.parametrize(
    ("last_request", "started_at", "is_found"),
    [
        (NOON - 9 * MINUTE, NOON - DAY, False),
        (NOON - 10 * MINUTE, NOON - DAY, True),
        (None, NOON - 9 * MINUTE, False),
        (None, NOON - 10 * MINUTE, True),
    ],
)
def test_vm_is_quiet_after_ten_minutes(
    last_request: datetime | None, started_at: datetime, is_found: bool
) -> None:
    found = checks(polled(a_vm(), last_request), started_at=started_at)
    assert (FleetCheck.VM_NOT_POLLING in found) is is_found


def test_vm_of_a_disabled_group_is_not_also_quiet() -> None:
    group = a_group("web", enabled=Enabling.ON_DEMAND)
    vm = polled(a_vm(group="web"), None)
    assert checks(vm, groups=(group,)) == {FleetCheck.GROUP_DISABLED: ["web"]}


def test_deallocated_vm_is_not_quiet_and_needs_no_host() -> None:
    assert checks(polled(a_vm(deallocated=True), None), hosts=1) == {}


def test_only_some_names_are_listed_in_natural_order() -> None:
    groups = tuple(a_group(f"g-{n}") for n in reversed(range(NAMED + 5)))
    fleet = CheckedFleet(hosts=0, groups=groups, vms=())
    (finding,) = check_fleet(fleet, NOON, started_at=NOON, outages=(), is_open=True)
    assert finding.count == NAMED + 5
    assert [item.name for item in finding.items] == [f"g-{n}" for n in range(NAMED)]
