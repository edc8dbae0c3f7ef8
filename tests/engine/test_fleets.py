"""Fleet changes: as a whole, piece by piece, and during live events."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.engine.support.system import (
    FLEET,
    HOUR,
    NOON,
    OpenStore,
    System,
    a_reboot,
    a_system,
)

from forewarn.core.fleet import VM, Fleet, Group, GroupKind, Host
from forewarn.core.lifecycle.facts import FleetChanged
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.errors import Conflict, InUse, InvalidInput, NotFound

WEB = FLEET.groups["web"]


def without(*vms: str, fleet: Fleet = FLEET) -> Fleet:
    return replace(
        fleet, vms={name: vm for name, vm in fleet.vms.items() if name not in vms}
    )


def a_large_fleet(size: int) -> Fleet:
    vms = {f"web-{n}": VM(name=f"web-{n}", group="web") for n in range(size)}
    return Fleet(groups={"web": WEB}, vms=vms)


# --- the whole fleet ---------------------------------------------------------


def test_an_applied_fleet_replaces_everything(open_store: OpenStore) -> None:
    system = a_system(open_store(), fleet=None)
    applied = system.fleets.apply(FLEET, by="ops")
    assert system.fleet() == FLEET
    assert [*system.fleet().vms] == [*FLEET.vms]
    assert len(applied.difference.vms) == len(FLEET.vms)


def test_applying_the_same_fleet_again_changes_nothing(system: System) -> None:
    before = system.journal()
    applied = system.fleets.apply(FLEET, by="ops")
    assert system.journal() == before
    assert not applied.difference.vms


def test_applying_reports_what_was_added_changed_and_removed(system: System) -> None:
    zoned = replace(FLEET.vms["web-0"], zone="1")
    new = VM(name="web-9", group="web")
    desired = without("web-2")
    desired = replace(desired, vms={**desired.vms, "web-0": zoned, "web-9": new})
    applied = system.fleets.apply(desired, by="ops", remove=True)
    assert applied.difference.vms == (
        (FLEET.vms["web-2"], None),
        (FLEET.vms["web-0"], zoned),
        (None, new),
    )
    assert system.fleet() == desired


def test_applying_does_not_affect_incarnations_enabled_state_or_events(
    system: System,
) -> None:
    system.engine.listen(["web"])
    maintenance = system.announce(a_reboot("web-0"))
    before, epoch = system.plane.document("web-0"), system.plane.epoch("web-0")
    web = replace(WEB, terminate_notice=300)
    system.fleets.apply(
        replace(FLEET, groups={**FLEET.groups, "web": web}), by="ops", remove=True
    )
    assert system.plane.document("web-0") == before
    assert system.plane.epoch("web-0") == epoch
    assert system.maintenance(maintenance.id) == maintenance
    assert system.fleet().groups["web"] == replace(
        web, enabled_since=NOON, last_request=NOON
    )


@pytest.mark.parametrize(("size", "gone"), [(10, 2), (100, 11)])
def test_removing_more_than_a_tenth_is_refused(
    open_store: OpenStore, size: int, gone: int
) -> None:
    large = a_large_fleet(size)
    system = a_system(open_store(), fleet=large)
    less = without(*[*large.vms][:gone], fleet=large)
    with pytest.raises(Conflict, match=f"{gone} of {size} VMs"):
        system.fleets.apply(less, by="ops")
    assert system.fleet() == large
    system.fleets.apply(less, by="ops", remove=True)
    assert system.fleet() == less


def test_the_last_applied_file_is_remembered(system: System) -> None:
    system.fleets.apply(FLEET, by="ops", digest="d1")
    assert system.fleets.is_applied("d1")
    system.fleets.apply(FLEET, by="ops", digest="d2")
    assert not system.fleets.is_applied("d1")


def test_a_refused_fleet_is_not_remembered(system: System) -> None:
    with pytest.raises(Conflict):
        system.fleets.apply(Fleet(), by="ops", digest="d1")
    assert not system.fleets.is_applied("d1")


def test_a_placement_that_defeats_update_domains_causes_a_warning(
    system: System,
) -> None:
    together = replace(FLEET.vms["web-1"], host="host-a")
    applied = system.fleets.apply(
        replace(FLEET, vms={**FLEET.vms, "web-1": together}), by="ops"
    )
    assert ["host-a" in warning for warning in applied.warnings] == [True]


# --- piece by piece ----------------------------------------------------------


def test_a_vm_is_added_and_changed(system: System) -> None:
    new = VM(name="web-9", group="web", host="host-a", update_domain=9)
    assert system.fleets.put_vm(new, by="ops") == new
    changed = replace(new, zone="2")
    assert system.fleets.put_vm(changed, by="ops") == changed
    assert system.fleet() == replace(FLEET, vms={**FLEET.vms, "web-9": changed})


def test_putting_an_unchanged_item_changes_nothing(system: System) -> None:
    before = system.journal()
    system.fleets.put_vm(FLEET.vms["web-0"], by="ops")
    system.fleets.put_group(WEB, by="ops")
    system.fleets.put_host(Host(name="host-a"), by="ops")
    assert system.journal() == before


def test_a_standalone_vm_adds_and_removes_its_own_group(
    system: System,
) -> None:
    system.fleets.put_vm(VM(name="solo", group="solo"), by="ops")
    assert system.fleet().groups["solo"].kind is GroupKind.STANDALONE
    assert system.plane.document("solo").incarnation == 0
    system.fleets.remove_vm("solo", by="ops")
    assert system.fleet() == FLEET


@pytest.mark.parametrize(
    "vm",
    [
        VM(name="new", group="no-such-group"),
        VM(name="new", group="web", host="no-such-host"),
        VM(name="new", group="lone"),
        VM(name="web", group="web"),
    ],
)
def test_a_vm_that_does_not_fit_is_refused(system: System, vm: VM) -> None:
    with pytest.raises(InvalidInput):
        system.fleets.put_vm(vm, by="ops")
    assert system.fleet() == FLEET


def test_an_address_belongs_to_one_vm(system: System) -> None:
    system.fleets.put_vm(replace(FLEET.vms["web-0"], addresses=("10.0.0.1",)), by="ops")
    with pytest.raises(InvalidInput, match=r"10\.0\.0\.1 is already used by web-0"):
        system.fleets.put_vm(
            replace(FLEET.vms["db-0"], addresses=("10.0.0.1",)), by="ops"
        )


def test_a_removed_vm_is_gone_and_can_return(system: System) -> None:
    system.fleets.remove_vm("WEB-2", by="ops")
    assert "web-2" not in system.fleet().vms
    system.fleets.put_vm(FLEET.vms["web-2"], by="ops")
    assert system.fleet() == FLEET


@pytest.mark.parametrize(
    "remove", [lambda f: f.remove_vm, lambda f: f.remove_group, lambda f: f.remove_host]
)
def test_removing_something_unknown_is_refused(
    system: System, remove: Callable[[object], Callable[..., None]]
) -> None:
    with pytest.raises(NotFound):
        remove(system.fleets)("nobody", by="ops")


def test_a_group_or_host_with_vms_cannot_be_removed(system: System) -> None:
    with pytest.raises(Conflict, match="web-0"):
        system.fleets.remove_group("web", by="ops")
    with pytest.raises(Conflict, match="web-0"):
        system.fleets.remove_host("host-a", by="ops")
    assert system.fleet() == FLEET


def test_an_empty_group_and_host_can_be_added_and_removed(system: System) -> None:
    system.fleets.put_host(Host(name="host-c"), by="ops")
    system.fleets.put_group(Group(name="app", kind=GroupKind.SCALE_SET), by="ops")
    assert {"host-c"} == set(system.fleet().hosts) - set(FLEET.hosts)
    assert {"app"} == set(system.fleet().groups) - set(FLEET.groups)
    system.fleets.remove_host("host-c", by="ops")
    system.fleets.remove_group("app", by="ops")
    assert system.fleet() == FLEET


def test_put_group_returns_the_stored_group(system: System) -> None:
    system.engine.listen(["web"])
    returned = system.fleets.put_group(replace(WEB, terminate_notice=300), by="ops")
    assert returned == system.fleet().groups["web"]


def test_a_host_put_in_another_case_keeps_its_vms(system: System) -> None:
    system.fleets.put_host(Host(name="HOST-A"), by="ops")
    maintenance = system.announce(a_reboot(host="host-a"))
    assert set(maintenance.vms) == {"web-0", "db-0"}


def test_the_author_of_a_fleet_change_is_journaled(system: System) -> None:
    system.fleets.put_host(Host(name="host-c"), by="somebody")
    assert system.facts(FleetChanged)[-1].by == "somebody"


# --- moving ------------------------------------------------------------------


def test_a_vm_moves_from_one_group_to_another(system: System) -> None:
    maintenance = system.announce(a_reboot("db-0"))
    system.fleets.put_vm(replace(FLEET.vms["web-2"], group="db"), by="ops")
    assert [event.id for event in system.plane.document("web-2").events] == [
        maintenance.events[0].id
    ]
    system.engine.approve_as_vm("web-2", [maintenance.events[0].id])
    assert system.phase(maintenance.id) is Phase.STARTED


def test_a_vm_moves_in_and_out_of_an_isolated_group(system: System) -> None:
    system.fleets.put_vm(replace(FLEET.vms["web-2"], group="iso"), by="ops")
    maintenance = system.announce(a_reboot("web-2"))
    assert len(system.plane.document("web-2").events) == 1
    assert system.plane.document("iso-0").events == ()
    system.engine.cancel(maintenance.id, by="ops")
    system.fleets.put_vm(FLEET.vms["web-2"], by="ops")
    with system.store.snapshot() as snapshot:
        assert "iso/web-2" not in snapshot.slice(None).audiences
    assert system.plane.document("web-2") == system.plane.document("web-0")


def test_a_standalone_vm_that_joins_a_group_leaves_no_group_behind(
    system: System,
) -> None:
    system.fleets.put_vm(VM(name="lone", group="web", update_domain=7), by="ops")
    assert set(system.fleet().groups) == {"web", "db", "iso"}
    system.fleets.put_vm(VM(name="lone", group="lone"), by="ops")
    assert system.fleet() == FLEET


# --- during live events ------------------------------------------------------


Change = Callable[[System], object]
WEB_0 = FLEET.vms["web-0"]

FORBIDDEN: dict[str, Change] = {
    "group": lambda s: s.fleets.put_vm(replace(WEB_0, group="db"), by="ops"),
    "domain": lambda s: s.fleets.put_vm(replace(WEB_0, update_domain=7), by="ops"),
    "whole": lambda s: s.fleets.apply(Fleet(), by="ops", remove=True),
    "apply": lambda s: s.fleets.apply(
        replace(FLEET, vms={**FLEET.vms, "web-0": replace(WEB_0, group="db")}),
        by="ops",
    ),
}


@pytest.mark.parametrize("change", FORBIDDEN.values(), ids=FORBIDDEN)
@pytest.mark.parametrize("is_started", [False, True])
def test_a_forbidden_change_names_the_live_maintenance(
    system: System, change: Change, is_started: bool
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    if is_started:
        system.engine.approve(maintenance.events[0].id, by="ops")
    before = system.journal()
    with pytest.raises(InUse, match=f": {maintenance.label}$"):
        change(system)
    assert system.journal() == before
    assert system.fleet() == FLEET


def test_all_live_maintenance_is_named_in_order(system: System) -> None:
    maintenances = [
        system.announce(a_reboot("web-0", minutes=15 + n)) for n in range(3)
    ]
    with pytest.raises(InUse) as refused:
        FORBIDDEN["group"](system)
    assert [item.label for item in maintenances] == ["m-1", "m-2", "m-3"]
    assert str(refused.value).endswith(": m-1, m-2, m-3")


@pytest.mark.parametrize("change", FORBIDDEN.values(), ids=FORBIDDEN)
def test_a_forbidden_change_is_allowed_once_the_events_are_over(
    system: System, change: Change
) -> None:
    system.announce(a_reboot("web-0"))
    system.advance.by(HOUR)
    change(system)
    assert system.fleet() != FLEET


def test_a_move_to_another_host_does_not_affect_maintenance_of_vms(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.fleets.put_vm(replace(WEB_0, host="host-b"), by="ops")
    assert system.maintenance(maintenance.id) == maintenance


def test_a_host_with_live_events_cannot_be_removed(system: System) -> None:
    maintenance: Maintenance = system.announce(a_reboot(host="host-a"))
    empty = replace(
        FLEET,
        hosts={"host-b": FLEET.hosts["host-b"]},
        vms={name: replace(vm, host="host-b") for name, vm in FLEET.vms.items()},
    )
    with pytest.raises(Conflict, match=f": {maintenance.label}$"):
        system.fleets.apply(empty, by="ops")
    with pytest.raises(Conflict):
        system.fleets.remove_host("host-a", by="ops")
    assert system.fleet() == FLEET
