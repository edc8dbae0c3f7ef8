"""Nemesis of a trial: injects faults, one after the other, chosen by a seed."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.end_to_end.program import Program, serving
from tests.end_to_end.small_disk import SmallDisk
from tests.faults.history import OUTAGE, InjectedFault, now
from tests.faults.proxy import Proxy
from tests.patience import PATIENCE
from tests.postgres import PostgresServer

#: Seconds in which commands are done again after connections have fallen silent.
RECOVERY = 30.0

_KILLED = "killed for a minute"
_BACKENDS = "SELECT pid FROM pg_stat_activity WHERE usename = 'forewarn'"


@dataclass(slots=True, kw_only=True)
class RestartableProgram:
    """`forewarn serve` on fixed addresses, which can be killed and started again."""

    folder: Path
    options: Sequence[str]
    fleet: str
    environment: Mapping[str, Any]
    within: Sequence[str] = ()
    program: Program | None = None
    stack: ExitStack = field(default_factory=ExitStack)

    async def start(self) -> str:
        """Start it, repeatedly if it refuses; return what was wrong, if anything."""
        deadline = now() + PATIENCE
        while True:
            try:
                await asyncio.to_thread(self._start)
            except AssertionError as error:  # it has ended: no disk, no database
                if now() > deadline:
                    return f"does not start: {error}"
                await asyncio.sleep(0.2)
            else:
                return ""

    def _start(self) -> None:
        self.program = self.stack.enter_context(
            serving(
                self.folder,
                *self.options,
                fleet=self.fleet,
                within=self.within,
                **self.environment,
            )
        )

    async def kill(self) -> None:
        """Kill it, like a power cut."""
        await asyncio.to_thread(self.stack.close)

    async def stop(self) -> str:
        """Send SIGTERM; return what was wrong with its end, if anything."""
        if self.program is None:
            return ""
        code, _ = await asyncio.to_thread(self.program.stop)
        await self.kill()
        return "" if code == 0 else f"exit code {code} after SIGTERM"

    @property
    def pid(self) -> int:
        """The process id."""
        return 0 if self.program is None else self.program.process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it has ended by itself."""
        return self.program is None or self.program.process.poll() is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Nemesis:
    """Injects faults into a program and what it depends on."""

    program: RestartableProgram
    random: Random
    faults: list[InjectedFault]
    ended: asyncio.Event  # set if the load ends early
    has_recovered: Callable[[float], bool]  # whether a later command was done
    has_outages: bool = False  # whether there is time for one
    disk: SmallDisk | None = None  # None if nothing can be mounted
    postgres: PostgresServer | None = None  # None with SQLite
    proxy: Proxy | None = None

    async def inject_faults(self, seconds: float) -> None:
        """Inject faults for `seconds`; all are over when it returns."""
        deadline, kinds = now() + seconds, self._kinds()
        bag: list[str] = []  # each kind once before any is repeated
        while now() < deadline and not self.ended.is_set():
            await self._sleep(0.3, 1.5)
            bag = bag or self._shuffled(kinds)
            name = bag.pop()
            is_down, inject = kinds[name]
            begun, complaint = now(), ""
            if self.program.has_ended:
                complaint = "the program had ended on its own"
                await self.program.kill()
                await self.program.start()
            complaint = await inject() or complaint
            self.faults.append(
                InjectedFault(
                    kind=name,
                    begun=begun,
                    ended=now(),
                    is_down=is_down,
                    complaint=complaint,
                )
            )

    def _shuffled(self, kinds: Mapping[str, object]) -> list[str]:
        """Return the kinds in a new order; those that take a minute are rare."""
        rare = (OUTAGE, _KILLED)
        usual = [kind for kind in kinds if kind not in rare]
        is_due = self.has_outages and self.random.random() < 0.1
        chosen = [self.random.choice(rare)] if is_due else []
        return self.random.sample(usual, len(usual)) + chosen

    def _kinds(self) -> Mapping[str, tuple[bool, "_Inject"]]:
        """Return the faults, and whether the service cannot respond meanwhile."""
        kinds: dict[str, tuple[bool, _Inject]] = {
            "kill": (True, self._kill),
            "kill again": (True, self._kill),
            "terminate": (True, self._terminate),
            "freeze": (True, self._freeze),
            OUTAGE: (True, self._freeze_for_a_minute),
            _KILLED: (True, self._kill_for_a_minute),
        }
        if self.disk is not None:
            kinds["full disk"] = (False, self._fill_disk)
            kinds["full disk, kill"] = (True, self._fill_disk_and_kill)
        if self.postgres is not None and self.proxy is not None:
            kinds |= {
                "database restart, fast": (False, self._restart_fast),
                "database restart, immediate": (False, self._restart_immediately),
                "backends terminated": (False, self._terminate_backends),
                "backend killed": (False, self._kill_backend),
                "backends frozen": (False, self._freeze_backends),
                "connections reset": (False, self._reset),
                "connections reset often": (False, self._reset_often),
                "connections refused": (False, self._refuse),
                "network silent": (False, self._silence),
                "connections abandoned": (False, self._abandon),
            }
        return kinds

    async def _sleep(self, least: float, most: float) -> None:
        await asyncio.sleep(self.random.uniform(least, most))

    # --- the program ---------------------------------------------------------

    async def _kill(self) -> str:
        await self.program.kill()
        return await self.program.start()

    async def _terminate(self) -> str:
        complaint = await self.program.stop()
        return await self.program.start() or complaint

    async def _freeze(self) -> str:
        os.kill(self.program.pid, signal.SIGSTOP)
        await self._sleep(0.3, 2.0)
        os.kill(self.program.pid, signal.SIGCONT)
        return ""

    async def _freeze_for_a_minute(self) -> str:
        os.kill(self.program.pid, signal.SIGSTOP)
        await self._be_away()
        os.kill(self.program.pid, signal.SIGCONT)
        return ""

    async def _kill_for_a_minute(self) -> str:
        await self.program.kill()
        await self._be_away()
        return await self.program.start()

    async def _be_away(self) -> None:
        await self._sleep(62.0, 70.0)  # from a minute on, it counts as an outage

    async def _fill_disk(self) -> str:
        async with self._full_disk():
            await self._sleep(0.5, 2.0)
        return ""

    async def _fill_disk_and_kill(self) -> str:
        async with self._full_disk():
            await self._sleep(0.1, 0.5)
            await self.program.kill()
        return await self.program.start()

    @asynccontextmanager
    async def _full_disk(self) -> AsyncIterator[None]:
        assert self.disk is not None
        await asyncio.to_thread(self.disk.fill)
        try:
            yield
        finally:
            self.disk.free()

    # --- the database --------------------------------------------------------

    async def _restart_fast(self) -> str:
        return await self._restart(signal.SIGINT)

    async def _restart_immediately(self) -> str:
        return await self._restart(signal.SIGQUIT)

    async def _restart(self, how: signal.Signals) -> str:
        assert self.postgres is not None
        await asyncio.to_thread(self.postgres.stop, how)
        await self._sleep(0.0, 1.0)
        await asyncio.to_thread(self.postgres.start)
        return ""

    async def _backends(self) -> list[int]:
        assert self.postgres is not None
        pids = await asyncio.to_thread(self.postgres.run, _BACKENDS)
        return [pid for pid in pids if isinstance(pid, int)]

    async def _terminate_backends(self) -> str:
        assert self.postgres is not None
        statement = _BACKENDS.replace("pid", "pg_terminate_backend(pid)", 1)
        await asyncio.to_thread(self.postgres.run, statement)
        return ""

    async def _kill_backend(self) -> str:
        for pid in (await self._backends())[:1]:
            os.kill(pid, signal.SIGKILL)  # the database recovers from it by itself
        await self._sleep(0.5, 1.0)
        return ""

    async def _freeze_backends(self) -> str:
        pids = await self._backends()
        _send(pids, signal.SIGSTOP)
        await self._sleep(0.3, 2.0)
        _send(pids, signal.SIGCONT)
        return ""

    async def _reset(self) -> str:
        assert self.proxy is not None
        self.proxy.reset()
        return ""

    async def _reset_often(self) -> str:
        assert self.proxy is not None
        for _ in range(20):
            await self._sleep(0.01, 0.1)
            self.proxy.reset()
        return ""

    async def _refuse(self) -> str:
        assert self.proxy is not None
        self.proxy.refuse(True)
        await self._sleep(0.3, 1.5)
        self.proxy.refuse(False)
        return ""

    async def _silence(self) -> str:
        assert self.proxy is not None
        self.proxy.silence(True)
        await self._sleep(0.3, 2.0)
        self.proxy.silence(False)
        return ""

    async def _abandon(self) -> str:
        assert self.proxy is not None
        self.proxy.abandon()
        since = now()
        while now() < since + RECOVERY:
            if self.has_recovered(since) or self.ended.is_set():
                return ""
            await asyncio.sleep(0.1)
        return f"no command was done in {RECOVERY:.0f} s"


_Inject = Callable[[], Coroutine[Any, Any, str]]


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue  # it has ended
