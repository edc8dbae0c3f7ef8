"""The metadata plane with commands that take their time: enabling groups, stopping."""

import socket
import struct
import threading
from collections.abc import Sequence
from dataclasses import replace
from threading import Event, Thread

import pytest
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import NOON, QUIET, a_harness, shown
from tests.server.support.pollers import Poller

from forewarn.clocks import ManualClock
from forewarn.core.fleet import VM
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.limits import ConnectionLimits, MetadataLimit
from forewarn.server.metadata.plane import MetadataPlane

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection
GROUPS = tuple(replace(QUIET, name=name) for name in ("a", "b", "c"))
VMS = tuple(VM(name=each.name, group=each.name) for each in GROUPS)
MORE_VMS = tuple(VM(name=f"a-{number}", group="a") for number in range(4))
POST = (
    b"POST /vm/a/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    b"Host: vm\r\nMetadata: true\r\nContent-Length: 38\r\n\r\n"
    b'{"StartRequests":[{"EventId":"ABCD"}]}'
)


class SlowCommands:
    """Commands that block until `let_go` is set."""

    def __init__(self) -> None:
        self.begun = Event()
        self.let_go = Event()
        self.approved = 0
        self.are_shown: list[bool] = []  # of each approval
        self.turns: list[set[str]] = []  # groups enabled together
        self.listening = socket.create_server(("127.0.0.1", 0))
        vms = (*VMS, *MORE_VMS)
        handler = a_harness(is_open=True, vms=vms, groups=GROUPS).handler
        limit = ConnectionLimits(per_vm=1000, total=1000)
        clock = ManualClock(NOON)
        self.plane = MetadataPlane([self.listening], handler, self, clock, limit)

    def approve_as_vm(
        self, vm_name: str, event_ids: Sequence[str], *, are_shown: bool = True
    ) -> None:
        self.are_shown.append(are_shown)
        self.begun.set()
        self.let_go.wait(PATIENCE)
        self.approved += 1

    def listen(self, groups: Sequence[str]) -> None:
        self.turns.append({*groups})
        self.begun.set()
        self.let_go.wait(PATIENCE)
        self.enable(*groups)

    def enable(self, *groups: str) -> None:
        enabled = [replace(group, last_request=NOON) for group in GROUPS]
        documents = [
            shown(group, epoch="e1") for group in enabled if group.name in groups
        ]
        self.plane.apply_update(DocumentUpdate(position=1, shown=documents))


def test_unused_heads_are_dropped_every_minute() -> None:
    plane = SlowCommands().plane
    plane.head_cache.read(a_request())
    plane.second = 59
    plane.start()  # with the first sweep
    plane.stop()
    assert plane.head_cache.whole == {}


def test_groups_that_poll_while_another_is_enabled_share_a_transaction() -> None:
    commands = SlowCommands()
    commands.plane.start()
    host, port = commands.listening.getsockname()
    pollers = {vm.name: Poller(f"http://{host}:{port}", vm.name) for vm in VMS}
    for name, poller in pollers.items():
        target = f"/vm/{name}/metadata/scheduledevents?api-version=2020-07-01"
        versions = f"/vm/{name}/metadata/versions"
        first = a_request(versions, "Metadata: true")
        poller.socket.sendall(first + a_request(target, "Metadata: true"))
        assert poller.answer().status == 200  # so the second request is being processed
        assert commands.begun.wait(PATIENCE)
    commands.let_go.set()
    for poller in pollers.values():
        with poller:
            assert poller.answer().status == 200
    commands.plane.stop()
    assert commands.turns == [{"a"}, {"b", "c"}]


def test_connection_that_ends_does_not_wait_for_its_group() -> None:
    commands = SlowCommands()
    commands.plane.start()
    host, port = commands.listening.getsockname()
    address = f"http://{host}:{port}"
    target = "/metadata/scheduledevents?api-version=2020-07-01"
    with Poller(address, "a") as first, Poller(address, "b") as second:
        first.socket.sendall(a_request(f"/vm/a{target}", "Metadata: true"))
        assert commands.begun.wait(PATIENCE)
        second.socket.sendall(a_request(f"/vm/b{target}", "Metadata: true"))
        until(lambda: len(commands.plane._disabled) == 1)
        second.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
        second.socket.close()
        until(lambda: not commands.plane._disabled)
        commands.let_go.set()
        assert first.answer().status == 200
    commands.plane.stop()
    assert commands.turns == [{"a"}]


# --- too many threads --------------------------------------------------------


def refuse_threads_after(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    start, left = Thread.start, [None] * number

    def start_if_allowed(thread: Thread) -> None:
        if not left:
            raise RuntimeError("can't start new thread")
        left.pop()
        start(thread)

    monkeypatch.setattr(Thread, "start", start_if_allowed)


def test_requests_need_no_further_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    commands = SlowCommands()
    commands.let_go.set()
    commands.plane.start()
    refuse_threads_after(0, monkeypatch)
    host, port = commands.listening.getsockname()
    with Poller(f"http://{host}:{port}", "a") as vm:
        assert vm.request().status == 200
    commands.plane.stop()
    assert commands.turns == [{"a"}]


@pytest.mark.parametrize("number", [0, 3, 4])
def test_start_with_too_few_threads_fails_and_leaves_none(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands, before = SlowCommands(), {*threading.enumerate()}
    refuse_threads_after(number, monkeypatch)
    with commands.listening, pytest.raises(RuntimeError, match="new thread"):
        commands.plane.start()
    assert {*threading.enumerate()} <= before


# --- approvals and the stop --------------------------------------------------


def test_one_approval_per_vm_is_in_progress_and_one_waits() -> None:
    commands = SlowCommands()
    commands.enable("a", "b")
    commands.plane.start()
    address = commands.listening.getsockname()
    clients = [socket.create_connection(address, PATIENCE) for _ in range(4)]
    first, second, third, other = clients
    first.sendall(POST)
    assert commands.begun.wait(PATIENCE)
    second.sendall(POST)
    until(lambda: bool(commands.plane._approvals._waiting))
    third.sendall(POST)
    refused = third.recv(4096)
    assert refused.startswith(b"HTTP/1.1 429 ")
    assert b"Retry-After: 1\r\n" in refused
    (limited,) = commands.plane.limited()
    assert (limited.name, limited.counts) == ("a", {MetadataLimit.APPROVALS: 1})
    assert commands.plane.turns._is_writing()
    commands.begun.clear()
    other.sendall(POST.replace(b"/vm/a/", b"/vm/b/"))
    assert commands.begun.wait(PATIENCE)  # next to that of the other VM
    commands.let_go.set()
    for client in (first, second, other):
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert not commands.plane.turns._is_writing()
    commands.plane.stop()
    assert commands.approved == 3
    for client in clients:
        client.close()


def test_approvals_leave_a_thread_for_enabling_groups() -> None:
    commands = SlowCommands()
    commands.enable("a")
    commands.plane.start()
    host, port = commands.listening.getsockname()
    pollers = [Poller(f"http://{host}:{port}", vm.name) for vm in MORE_VMS]
    for poller, vm in zip(pollers, MORE_VMS, strict=True):
        versions = a_request("/metadata/versions", "Metadata: true")
        post = POST.replace(b"/vm/a/", f"/vm/{vm.name}/".encode())
        poller.socket.sendall(versions + post)
        assert poller.answer().status == 200  # so the approval is being processed
    with Poller(f"http://{host}:{port}", "b") as other:
        target = "/vm/b/metadata/scheduledevents?api-version=2020-07-01"
        other.socket.sendall(a_request(target, "Metadata: true"))
        until(lambda: commands.turns == [{"b"}])
        commands.let_go.set()
        assert other.answer().status == 200
    for poller in pollers:
        with poller:
            assert poller.answer().status == 200
    commands.plane.stop()


def test_approval_of_an_event_that_the_vm_does_not_see_is_checked_first() -> None:
    commands = SlowCommands()
    commands.let_go.set()
    commands.enable("a")
    commands.plane.start()
    address = commands.listening.getsockname()
    with socket.create_connection(address, PATIENCE) as client:
        client.sendall(POST)
        assert client.recv(4096).startswith(b"HTTP/1.1 200 ")
    commands.plane.stop()
    assert commands.are_shown == [False]


def test_hand_over_during_a_stop_does_not_block() -> None:
    for _ in range(20):
        plane = SlowCommands().plane
        plane.start()
        ends = Event()

        def hand_over(plane: MetadataPlane = plane, ends: Event = ends) -> None:
            while not ends.is_set():
                plane.apply_update(DocumentUpdate(position=1))

        threads = [Thread(target=hand_over, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        plane.stop()
        ends.set()
        for thread in threads:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in threads)


def test_waiting_approvals_are_dropped_by_a_stop() -> None:
    commands = SlowCommands()
    plane = commands.plane
    commands.enable("a")
    plane.start()
    address = commands.listening.getsockname()
    clients = [socket.create_connection(address) for _ in range(30)]
    for client in clients:
        client.sendall(POST)
    assert commands.begun.wait(PATIENCE)
    stopper = Thread(target=plane.stop)
    stopper.start()
    until(lambda: plane._pool._shutdown)  # responses in progress have been waited for
    commands.let_go.set()
    stopper.join(PATIENCE)
    assert not stopper.is_alive()
    assert commands.approved < len(clients)
    for client in clients:
        client.close()
