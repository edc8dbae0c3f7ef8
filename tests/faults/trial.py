"""Trial: the real program under a workload and faults, until everything has ended."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import pytest
from benchmarks.fleet import Fleet, FleetVm, a_fleet
from benchmarks.http_connection import KeepAliveConnection
from tests.end_to_end.program import a_reserved_address
from tests.end_to_end.small_disk import a_small_disk
from tests.faults.history import DriverRun, History, now
from tests.faults.nemesis import Nemesis, RestartableProgram
from tests.faults.proxy import a_proxy
from tests.faults.workload import (
    NEWEST,
    TYPES,
    Operator,
    WebhookReceiver,
    World,
    poll,
    poll_as,
    read_all,
    request,
    take_care,
)
from tests.patience import PATIENCE
from tests.postgres import a_server
from tests.postgres_binaries import binaries

#: Every kind of group, on hosts that they share.
_GROUPS = """\
[[groups]]
name = "web"
kind = "availability-set"
[[groups]]
name = "service"
kind = "cloud-service"
[[groups]]
name = "spot"
kind = "scale-set"
terminate_notice_seconds = 600
[[groups]]
name = "private"
kind = "scale-set"
isolated = true
"""
_MEMBERS: Mapping[str, tuple[int, int, str]] = {  # VMs, update domains, settings
    "web": (4, 2, ""),
    "service": (2, 2, "paas = true\n"),
    # Deallocated, because every VM of the fleet polls until the end.
    "spot": (3, 0, 'spot = true\neviction_policy = "deallocate"\n'),
    "private": (2, 0, ""),
}
_HOSTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Options of a trial."""

    seed: str
    seconds: float
    store: str = "sqlite"  # or postgresql
    has_faults: bool = True
    clock: str = "x300"
    operators: int = 4
    pause: float = 0.1  # seconds between the commands of an operator
    every: float = 0.2  # seconds between the polls of a VM
    vms: int = 0  # 0 for the small fleet with every kind of group
    source: Path | None = None  # None for the installed program
    patience: float = PATIENCE  # seconds for everything to end after the load


def small_fleet() -> Fleet:
    """Create a fleet with every kind of group."""
    text = _GROUPS
    machines: list[FleetVm] = []
    text += "".join(f'[[hosts]]\nname = "host-{number}"\n' for number in range(_HOSTS))
    for group, (size, domains, settings) in _MEMBERS.items():
        for number in range(size):
            name, host = f"{group}-{number}", f"host-{len(machines) % _HOSTS}"
            machines.append(FleetVm(name=name, group=group, audience=group, host=host))
            text += f'[[vms]]\nname = "{name}"\ngroup = "{group}"\nhost = "{host}"\n'
            text += settings
            text += f"update_domain = {number % domains}\n" if domains else ""
    return Fleet(machines=machines, text=text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A running trial."""

    plan: Plan
    world: World
    program: RestartableProgram
    nemesis: Nemesis
    log: Path  # of the driver

    async def run(self) -> History:
        """Run the workload and the faults, wait for the end, and collect evidence."""
        world, plan = self.world, self.plan
        is_over = asyncio.Event()
        care = asyncio.create_task(take_care(world, is_over=is_over.is_set))
        load = self._begin_load()
        try:
            if plan.has_faults:
                await self.nemesis.inject_faults(plan.seconds)
            else:
                await world.pause(plan.seconds)
        finally:
            world.ended.set()
            await asyncio.gather(*load)
        await self._drain()
        is_over.set()
        await care
        await self._collect()
        return world.history

    def _begin_load(self) -> Sequence[asyncio.Task[None]]:
        world, plan = self.world, self.plan
        operators = [
            Operator(world, f"op{number}", plan.seed, plan.pause)
            for number in range(plan.operators)
        ]
        return [
            *(asyncio.create_task(operator.work()) for operator in operators),
            *(
                asyncio.create_task(poll_as(world, vm.name, plan.seed, plan.every))
                for vm in world.machines
            ),
        ]

    async def _drain(self) -> None:
        """Wait until all maintenance has ended and all messages were delivered."""
        deadline = now() + self.plan.patience
        while now() < deadline:
            for host in self.world.hosts:
                await request(self.world, f"/v1/hosts/{host}/recovered", {})
            path = "/v1/maintenances?phase=SCHEDULED&phase=STARTED&"
            if await read_all(self.world, path) == [] and await self._is_delivered():
                return
            await asyncio.sleep(0.3)

    async def _is_delivered(self) -> bool:
        path = "/v1/journal?order=newest&limit=1&fact=Completed&fact=Canceled"
        response = await request(self.world, path)
        if response is None or response.status != 200:
            return False
        items = json.loads(response.body)["items"]
        accepted = {
            delivery.position
            for delivery in self.world.history.deliveries[-100:]
            if delivery.is_accepted
        }
        return not items or items[0]["position"] in accepted

    async def _collect(self) -> None:
        world, history = self.world, self.world.history
        line = KeepAliveConnection(world.metadata)
        for machine in world.machines:
            await poll(world, line, machine.name, NEWEST)
        line.close()
        history.journal = await read_all(world, "/v1/journal?") or ()
        history.maintenances = await read_all(world, "/v1/maintenances?") or ()
        response = await request(world, "/v1/report")
        if response is not None and response.status == 200:
            history.report = json.loads(response.body)
        labels = {item["guid"]: item["id"] for item in history.maintenances}
        history.runs += _runs(self.log, labels)


def _runs(log: Path, labels: Mapping[str, str]) -> list[DriverRun]:
    """Read the driver's log, which identifies maintenance by its GUID."""
    lines = log.read_text().splitlines() if log.exists() else []
    runs = []
    for line in lines:
        maintenance, attempt, begun, vms, shared = line.split(";")
        runs.append(
            DriverRun(
                maintenance=labels.get(maintenance, maintenance),
                attempt=int(attempt),
                begun=float(begun),
                vms=tuple(vms.split()),
                shared=tuple(shared.split()),
            )
        )
    return runs


@asynccontextmanager
async def a_trial(plan: Plan, folder: Path) -> AsyncIterator[Trial]:
    """Start the program and what it needs, with all files in `folder`."""
    fleet = a_fleet(plan.vms) if plan.vms else small_fleet()
    async with AsyncExitStack() as stack:
        metadata = stack.enter_context(a_reserved_address())
        control = stack.enter_context(a_reserved_address())
        world = World(
            metadata=metadata,
            control=control,
            machines=fleet.machines,
            hosts=fleet.hosts,
        )
        receiver = await asyncio.start_server(
            WebhookReceiver(world, plan.seed).serve, "127.0.0.1", 0
        )
        stack.callback(receiver.close)
        webhook = f"http://127.0.0.1:{receiver.sockets[0].getsockname()[1]}/"
        store, parts = await _a_store(plan, folder, stack)
        program = RestartableProgram(
            folder=folder,
            options=(
                *("--metadata", metadata, "--control", control, "--store", store),
                *("--clock", plan.clock, "--webhook", webhook, "--driver", "script"),
                *("--driver-command", str(Path(__file__).parent / "driver.sh")),
            ),
            fleet=fleet.text,
            environment=_environment(plan, folder),
            # In its own session, so that Ctrl-C goes to the trial alone.
            within=("setsid", *(parts["disk"].within if "disk" in parts else ())),
        )
        stack.push_async_callback(program.kill)
        complaint = await program.start()
        assert not complaint, complaint
        yield Trial(
            plan=plan,
            world=world,
            program=program,
            nemesis=Nemesis(
                program=program,
                random=Random(plan.seed),
                faults=world.history.faults,
                ended=world.ended,
                has_recovered=world.has_done_since,
                has_outages=plan.seconds >= 300,
                **parts,
            ),
            log=folder / "runs",
        )


def _environment(plan: Plan, folder: Path) -> Mapping[str, str]:
    locks = folder / "locks"
    locks.mkdir()
    os.mkfifo(locks / "pause")
    return {
        "TRIAL_LOG": str(folder / "runs"),
        "TRIAL_LOCKS": str(locks),
        "FOREWARN_DRIVER_RETRIES": "1",
        "FOREWARN_DRIVER_BACKOFF": "0.2",
        "FOREWARN_DRIVER_GRACE": "1",
        "FOREWARN_NOTIFY_LONGEST_BACKOFF": "1",
        "FOREWARN_LEAD": "0.2",
        **{f"FOREWARN_SHOWN_{kind.upper()}": "0.4" for kind in TYPES},
        **({} if plan.source is None else {"PYTHONPATH": str(plan.source)}),
    }


async def _a_store(
    plan: Plan, folder: Path, stack: AsyncExitStack
) -> tuple[str, Mapping[str, Any]]:
    """Return the URL of a new store, and the parts that the nemesis can break."""
    if plan.store == "postgresql":
        found = binaries()
        assert found is not None, "PostgreSQL is not installed"
        server = stack.enter_context(a_server(found))
        proxy = await stack.enter_async_context(a_proxy(server.port))
        return server.url(port=proxy.port), {"postgres": server, "proxy": proxy}
    place = folder / "disk"
    place.mkdir()
    url = f"sqlite:///{place}/db"
    if plan.has_faults:
        megabytes = 32 + int(plan.seconds / 4)  # it grows by about 0.1 a second
        try:
            return url, {"disk": stack.enter_context(a_small_disk(place, megabytes))}
        except pytest.skip.Exception:  # nothing can be mounted here
            return url, {}
    return url, {}


async def run_trial(plan: Plan, folder: Path) -> History:
    """Run one trial from start to end."""
    async with a_trial(plan, folder) as trial:
        return await trial.run()
