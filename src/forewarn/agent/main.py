"""Startup of the agent: builds it from its plan and runs it until a signal arrives."""

import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from forewarn import __version__
from forewarn.agent.agent import Agent, Stop
from forewarn.agent.audit.entries import AuditEntry, BeganEntry, EndedEntry
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.config.plan import Plan
from forewarn.agent.config.preflight import check_machine
from forewarn.agent.discovery import DiscoveredService
from forewarn.agent.events.state import NO_IMPACT, HookOutcome, Impact
from forewarn.agent.hooks.executor import Executor
from forewarn.agent.hooks.orphans import end_orphans
from forewarn.agent.identity import VmIdentity
from forewarn.agent.poller import DocumentPoller
from forewarn.agent.storage.memory import StateMemory
from forewarn.agent.storage.store import StateStore
from forewarn.agent.systemd import SystemdNotifier
from forewarn.agent.telemetry.exporters import HealthServer, TextfileExporter
from forewarn.agent.telemetry.impact import (
    AliveFile,
    FreezeDetector,
    boot_id,
    standstill,
)
from forewarn.agent.telemetry.logs import Conditions, LogLimit
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.client.client import Client, discover_endpoint
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import FaultyFile, Unavailable
from forewarn.signals import stop_on_signals

#: The subdirectory of the agent's directory for dry-run state.
_DRY_RUN = "dry-run"

_log = logging.getLogger("forewarn.agent")


def run_agent(plan: Plan, *, is_dry: bool) -> None:
    """Run an agent until a signal stops it.

    A dry run has its own state. Otherwise, its decisions about events would still apply
    when the agent later runs for real.
    """
    if is_dry:
        plan = replace(plan, state=plan.state / _DRY_RUN)
    if problems := check_machine(plan):
        raise FaultyFile("\n".join(problems))
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # otherwise exit codes are unknown
    for warning in plan.warnings:
        _log.warning("%s", warning)
    with ExitStack() as stack:
        limit = LogLimit(_log)
        _log.addFilter(limit)
        stack.callback(_log.removeFilter, limit)
        _Running(plan, stack, is_dry=is_dry).run()


class _Running:
    """One agent and all of its parts."""

    def __init__(self, plan: Plan, stack: ExitStack, *, is_dry: bool) -> None:
        self._plan = plan
        self._is_dry = is_dry
        self._metrics = AgentMetrics()
        self._conditions = Conditions(_log)
        self._systemd = SystemdNotifier()
        self._clock = ServiceClock()
        self._client = _client(plan)
        stack.callback(self._client.close)
        store = StateStore(plan.state)
        store.open()
        stack.callback(store.close)
        self._recorder = AgentRecorder(
            audit=AuditLog(plan.state / "audit.jsonl"),
            metrics=self._metrics,
            conditions=self._conditions,
            clock=self._clock,
            endpoint=lambda: self._client.endpoint,
            blind_after=plan.blind_after,
        )
        self._states = StateMemory(store, self._recorder.save_result)
        self._alive = AliveFile(plan.state / "alive")
        self._freeze_detector = FreezeDetector(self._alive)
        stack.callback(self._freeze_detector.stop)
        self._textfile: TextfileExporter | None = None  # None if off
        if plan.textfile is not None:
            self._textfile = TextfileExporter(
                plan.textfile, self._metrics, self._conditions
            )
        if plan.metrics is not None:
            health = HealthServer(plan.metrics, self._metrics, self._conditions)
            stack.callback(health.close)
            _log.info("serving metrics at http://%s/metrics", health.address)

    def run(self) -> None:
        """Load the state; then poll, decide and act until stopped."""
        problems = self._states.load()
        for problem in problems:
            _log.warning("%s", problem)
        agent = self._agent(boot_id())
        with _signals(agent):  # until the end: a second signal must not interrupt
            self._end_orphans()
            self._begin(problems)
            self._loop(agent)
            if self._states.is_taken:
                raise Unavailable(
                    f"{self._plan.state} was replaced and another agent is using it;"
                    " stopping this agent"
                )
            self._write(EndedEntry(at=self._clock.now()))
            self._metrics.set("up", 0.0)
            if self._textfile is not None:
                self._textfile.write(time.monotonic(), has_changed=True)

    def _loop(self, agent: Agent) -> None:
        executor = Executor(
            self._plan,
            self._client.approve,
            self._clock,
            agent.inbox.put,
            endpoint=lambda: self._client.endpoint,
        )
        poller = DocumentPoller(self._plan, self._client, agent.deliver_poll)
        threading.Thread(target=poller.run, name="poller", daemon=True).start()
        agent.run(executor)
        self._systemd.stopping()
        poller.stop()
        executor.stop()
        agent.turn(executor)  # saves results that arrived in the meantime

    def _agent(self, boot: str) -> Agent:
        return Agent(
            self._plan,
            identity=VmIdentity(
                explicit=self._plan.name, host_name=socket.gethostname()
            ),
            clock=self._clock,
            states=self._states,
            recorder=self._recorder,
            freeze_detector=self._freeze_detector,
            heartbeat=self._heartbeat,
            boot=boot,
            impact=self._downtime(boot),
            token=lambda: os.urandom(12).hex(),
            is_dry=self._is_dry,
        )

    def _downtime(self, boot: str) -> Impact:
        """Return how long this VM was down if an event preceded its restart."""
        seconds = self._alive.seconds_since()
        if all(state.boot == boot for state in self._states.live()):
            return NO_IMPACT
        return standstill(seconds)

    def _end_orphans(self) -> None:
        """End hook processes that were running when the agent died."""
        for state in self._states.unfinished():
            for run in state.runs:
                if run.outcome is not HookOutcome.RUNNING:
                    continue
                number = end_orphans(run.token, kill_after=self._plan.kill_after)
                if number:
                    noun = "process" if number == 1 else "processes"
                    message = "stopped %d leftover %s from hook %s for event %s"
                    _log.warning(message, number, noun, run.hook, state.id)

    def _begin(self, problems: Sequence[str]) -> None:
        self._metrics.set("up", 1.0)
        self._metrics.set("dry_run", float(self._is_dry))
        began = BeganEntry(
            at=self._clock.now(),
            version=__version__,
            endpoint=self._client.endpoint or None,
            dry_run=self._is_dry,
            recovered=tuple(state.id for state in self._states.unfinished()),
            complaints=tuple(problems),
        )
        self._write(began)
        self._recorder.name_learned(self._plan.name or "")
        endpoint = self._client.endpoint
        self._systemd.ready(
            f"watching {endpoint}" if endpoint else "searching for the metadata service"
        )

    def _heartbeat(self) -> float:
        """Send heartbeats; return the seconds until the next ones are due."""
        self._systemd.alive()
        due = self._recorder.check_blind()
        if self._textfile is not None:
            self._textfile.write(time.monotonic())
            due = min(due, self._textfile.due(time.monotonic()))
        return (
            due if self._systemd.interval is None else min(due, self._systemd.interval)
        )

    def _write(self, entry: AuditEntry) -> None:
        self._recorder.write([entry], self._states.find)


def _client(plan: Plan) -> Client | DiscoveredService:
    """Return a client for the plan's endpoint or for a discovered one."""

    def connect(endpoint: str | None) -> Client:
        return Client(endpoint, api_version=plan.api_version, patience=0)

    def search() -> str:
        return discover_endpoint(
            lambda step: _log.debug("%s", step), api_version=plan.api_version
        )

    if not plan.discover:
        return connect(plan.endpoint)
    return DiscoveredService(search, connect, lost_after=plan.blind_after)


@contextmanager
def _signals(agent: Agent) -> Iterator[None]:
    """Stop the agent on signals, unless its caller ignores them.

    A thread waits for the signals, because a handler could run late: if a signal
    arrives just before the main thread waits, or in another thread, the handler runs
    only after the wait.
    """

    def forward() -> None:
        stop.wait()
        agent.inbox.put(Stop())

    with stop_on_signals() as stop:
        thread = threading.Thread(target=forward, name="signals", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.wake()
            thread.join()
