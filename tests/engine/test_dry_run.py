"""Dry runs: each runs the real command and changes nothing."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from tests.engine.support.system import (
    TABLES,
    System,
    a_reboot,
    an_emergency,
)

from forewarn.core import fleet_file
from forewarn.core.fleet import Fleet
from forewarn.core.lifecycle.operations import (
    VmOperation,
    order_for,
    order_for_host,
)
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.operations import Operations
from forewarn.engine.queries import DryRun
from forewarn.errors import Conflict, TooMany


def tried(command: Callable[..., object], group: str | None = None) -> DryRun[Any]:
    trial = DryRun[Any](group=group)
    trial.run(command, by="ops")
    return trial


def texts(command: Callable[..., object], group: str | None = None) -> list[str]:
    return [effect.text for effect in tried(command, group).effects]


def state_of(system: System) -> object:
    with system.store.snapshot() as snapshot:
        return (
            snapshot.position(),
            snapshot.last_number(),
            snapshot.next_moment(),
            snapshot.fleet(),
            [*snapshot.maintenances(phases=(), after=0, limit=100)],
            snapshot.receipt(""),
        )


def test_no_dry_run_changes_anything(system: System) -> None:
    operations, engine = Operations(system.engine), system.engine
    first = system.announce(a_reboot("web-0"))
    started = system.announce(an_emergency("db-0"))
    vms = [vm for vm in TABLES["vms"] if vm["name"] != "iso-0"]  # type: ignore[attr-defined]  # a list
    smaller = fleet_file.read_fleet({**TABLES, "vms": vms})
    before = state_of(system)
    for command in (
        partial(engine.announce, a_reboot(host="host-a")),
        partial(engine.cancel, first.id),
        partial(engine.complete, started.id),
        partial(engine.approve, first.events[0].id),
        partial(
            operations.operate,
            VmOperation.DELETE,
            order_for(VmOperation.DELETE, "lone"),
        ),
        partial(operations.start, ["lone"]),
        partial(operations.fail, order_for_host("host-a")),
        partial(FleetCommands(engine).apply, smaller, remove=True),
    ):
        tried(command)
        assert state_of(system) == before


def test_failed_host_would_cancel_what_is_scheduled_on_it(system: System) -> None:
    scheduled = system.announce(a_reboot(host="host-a"))
    trial = tried(partial(Operations(system.engine).fail, order_for_host("host-a")))
    (preview,) = trial.previews
    assert preview.maintenance.vms == ("db-0", "web-0")
    (effect,) = trial.effects
    assert (effect.fact, effect.maintenance) == ("Canceled", scheduled.label)
    assert effect.text == "would cancel the reboot of host-a (db-0, web-0) (m-1)"


def test_approval_would_start_the_operation_and_others_that_wait(
    system: System,
) -> None:
    first = system.announce(a_reboot("web-0"))
    approve = partial(system.engine.approve, first.events[0].id)
    assert texts(approve) == [
        "would approve the reboot of web-0 (m-1) for group web",
        "would start the reboot of web-0 (m-1) immediately",
    ]


def test_repeated_approval_would_change_nothing(system: System) -> None:
    first = system.announce(a_reboot("web-0"))
    waiting = system.announce(an_emergency("web-1"))
    approve = partial(system.engine.approve, waiting.events[0].id)
    approve(by="ops")
    assert texts(approve) == []
    assert first.label == "m-1"


def test_refusals_are_those_of_the_command(system: System) -> None:
    operations = Operations(system.engine)
    restart = partial(
        operations.operate, VmOperation.RESTART, order_for(VmOperation.RESTART, "web-0")
    )
    tried(restart)
    restart(by="ops")
    with pytest.raises(TooMany):
        tried(restart)
    assert operations.refused["vm"] == 0  # the metric counts only real requests
    with pytest.raises(Conflict):
        tried(partial(FleetCommands(system.engine).apply, Fleet()))


def test_group_sees_only_its_own_share(system: System) -> None:
    system.announce(a_reboot(host="host-a"))
    running = replace(an_emergency(), host="host-b")
    event = system.announce(running).events[0]
    restart = partial(
        Operations(system.engine).operate,
        VmOperation.RESTART,
        order_for(VmOperation.RESTART, "web-0"),
        group="web",
    )
    trial = tried(restart, "web")
    shown = f"{[preview.explanation for preview in trial.previews]} {trial.effects}"
    for secret in ("host-a", "host-b", "db-", event.id):
        assert secret not in shown
