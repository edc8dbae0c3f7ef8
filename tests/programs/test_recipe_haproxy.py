"""The recipe for HAProxy, with two real ones on Unix sockets."""

import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, until
from tests.patience import PATIENCE
from tests.programs.installed import needs, package_file
from tests.programs.recipe import OTHER, HookEnvironment, an_environment

pytestmark = needs("socat", "awk")

CONFIG = """\
global
    stats socket unix@{name}.admin level admin
defaults
    mode tcp
    timeout connect 5s
    timeout client 1m
    timeout server 1m
frontend all
    bind unix@{name}.all
    default_backend web
backend web
    server web-0 unix@web-0
    server web-1 unix@web-1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBalancers:
    """Two load balancers in front of two web servers that never respond."""

    stage: HookEnvironment

    def run(self, step: str, *, names: str = "one two", **more: str) -> FinishedCommand:
        """Run the hook of web-0."""
        addresses = " ".join(f"UNIX:{name}.admin" for name in names.split())
        marks = str(self.stage.folder / "marks")
        left = int(more.pop("left", "20"))
        event = {"event": more.pop("event")} if "event" in more else {}
        variables = {"BALANCERS": addresses, "MARKS": marks, **more}
        return self.stage.run(step, left=left, **event, **variables)

    def tell(self, name: str, command: str) -> str:
        """Run a command on a load balancer."""
        with self._connected(f"{name}.admin") as wire:
            wire.sendall(f"{command}\n".encode())
            return b"".join(iter(lambda: wire.recv(65_536), b"")).decode()

    def session(self, name: str) -> socket.socket:
        """Open a session to a web server; close the socket to end it."""
        wire = self._connected(f"{name}.all")
        until(lambda: self.sessions(name) > 0)
        return wire

    def sessions(self, name: str) -> int:
        """Return the number of sessions of web-0."""
        rows = self.tell(name, "show stat").splitlines()
        (row,) = (line for line in rows if line.startswith("web,web-0,"))
        return int(row.split(",")[4])

    def states(self) -> list[str]:
        """Return the state of web-0 in each load balancer."""
        states = []
        for name in ("one", "two"):
            rows = self.tell(name, "show stat").splitlines()
            (row,) = (line for line in rows if line.startswith("web,web-0,"))
            states.append(row.split(",")[17])
        return states

    def _connected(self, name: str) -> socket.socket:
        wire = socket.socket(socket.AF_UNIX)
        wire.connect(str(self.stage.folder / name))
        return wire


@contextmanager
def a_balancer(folder: Path, name: str) -> Iterator[None]:
    """Run a load balancer until the block ends."""
    (folder / f"{name}.cfg").write_text(CONFIG.format(name=name))
    command = [
        str(package_file("haproxy", "usr/sbin/haproxy")),
        "-db",
        "-f",
        f"{name}.cfg",
    ]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE) as process:
        try:
            until(lambda: (folder / f"{name}.all").exists())
            yield
        finally:
            process.kill()


@pytest.fixture
def balancers(tmp_path: Path) -> Iterator[LoadBalancers]:
    with ExitStack() as stack:
        for name in ("web-0", "web-1"):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(str(tmp_path / name))
            server.listen(16)
        for name in ("one", "two"):
            stack.enter_context(a_balancer(tmp_path, name))
        yield LoadBalancers(stage=an_environment(tmp_path, "haproxy/drain.sh"))


def test_a_vm_without_sessions_drains_immediately_and_returns(
    balancers: LoadBalancers,
) -> None:
    assert balancers.run("prepare").code == 0
    assert balancers.states() == ["DRAIN", "DRAIN"]
    assert balancers.run("recover").code == 0
    assert balancers.states() == ["no check", "no check"]


def test_a_vm_waits_for_its_last_session(balancers: LoadBalancers) -> None:
    with ThreadPoolExecutor() as pool, balancers.session("one"):
        hook: Future[FinishedCommand] = pool.submit(balancers.run, "prepare")
        until(lambda: balancers.states() == ["DRAIN", "DRAIN"])
        assert not hook.done()
        balancers.tell("one", "shutdown sessions server web/web-0")
        assert hook.result(timeout=PATIENCE).code == 0


def test_a_vm_with_sessions_at_the_deadline_is_not_ready(
    balancers: LoadBalancers,
) -> None:
    with balancers.session("two"):
        ended = balancers.run("prepare", left="2")
    assert (ended.code, ended.err) == (1, "sessions left: 1\n")


def test_a_vm_taken_out_by_someone_else_stays_out(balancers: LoadBalancers) -> None:
    balancers.tell("one", "set server web/web-0 state maint")
    assert balancers.run("prepare").code == 0
    assert balancers.states() == ["MAINT", "DRAIN"]
    assert balancers.run("undo").code == 0
    assert balancers.states() == ["MAINT", "no check"]


def test_a_repeated_haproxy_hook_still_restores_the_vm(
    balancers: LoadBalancers,
) -> None:
    balancers.run("prepare")
    assert balancers.run("prepare", FOREWARN_AGAIN="1").code == 0
    assert balancers.run("recover").code == 0
    assert balancers.states() == ["no check", "no check"]


def test_a_vm_stays_out_for_the_next_event(balancers: LoadBalancers) -> None:
    balancers.run("prepare")
    balancers.run("prepare", event=OTHER)
    assert balancers.run("recover").code == 0
    assert balancers.states() == ["DRAIN", "DRAIN"]
    assert balancers.run("recover", event=OTHER).code == 0
    assert balancers.states() == ["no check", "no check"]


def test_an_unreachable_load_balancer_makes_the_vm_not_ready(
    balancers: LoadBalancers,
) -> None:
    assert balancers.run("prepare", names="one three").code != 0


def test_an_unreachable_load_balancer_is_updated_by_the_next_attempt(
    balancers: LoadBalancers,
) -> None:
    balancers.run("prepare")
    (balancers.stage.folder / "one.admin").rename(balancers.stage.folder / "away")
    assert balancers.run("recover").code != 0
    (balancers.stage.folder / "away").rename(balancers.stage.folder / "one.admin")
    assert balancers.states() == ["DRAIN", "no check"]
    assert balancers.run("recover").code == 0
    assert balancers.states() == ["no check", "no check"]


def test_a_server_unknown_to_a_load_balancer_is_not_ready(
    balancers: LoadBalancers,
) -> None:
    ended = balancers.run("prepare", SERVER="web-9")
    assert (ended.code, ended.err) == (
        1,
        "UNIX:one.admin has no server web/web-9\n",
    )
