"""systemd notification, received on a socket like systemd's own."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.patience import PATIENCE

from forewarn.agent.systemd import SystemdNotifier


@pytest.fixture
def notify_socket(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(PATIENCE)
        yield ear


@pytest.fixture
def systemd(notify_socket: socket.socket) -> SystemdNotifier:
    return SystemdNotifier(
        {"NOTIFY_SOCKET": str(notify_socket.getsockname()), "WATCHDOG_USEC": "60000000"}
    )


def test_ready_is_sent_with_a_status(
    systemd: SystemdNotifier, notify_socket: socket.socket
) -> None:
    assert systemd.ready("watches events of web-0")
    assert notify_socket.recv(4096) == b"READY=1\nSTATUS=watches events of web-0"


def test_a_status_is_one_line_and_cannot_inject_commands(
    systemd: SystemdNotifier, notify_socket: socket.socket
) -> None:
    systemd.ready("a hook wrote\nMAINPID=1\n" + "x" * 5000)
    message = notify_socket.recv(8192)
    assert message.startswith(b"READY=1\nSTATUS=a hook wrote MAINPID=1 xxx")
    assert message.count(b"\n") == 1
    assert len(message) < 1100


def test_an_abstract_socket_is_supported() -> None:
    name = f"forewarn-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind("\0" + name)
        ear.settimeout(PATIENCE)
        assert SystemdNotifier({"NOTIFY_SOCKET": f"@{name}"}).stopping()
        assert ear.recv(4096) == b"STOPPING=1"


@pytest.mark.parametrize("address", ["", "nonsense", "vsock:2:1234", "/\0"])
def test_without_systemd_nothing_is_sent(address: str) -> None:
    systemd = SystemdNotifier({"NOTIFY_SOCKET": address} if address else {})
    assert not systemd.ready("here I am")
    assert not systemd.alive()
    assert systemd.interval is None


def test_a_missing_socket_is_not_an_error(tmp_path: Path) -> None:
    assert not SystemdNotifier({"NOTIFY_SOCKET": str(tmp_path / "gone")}).stopping()
    assert not SystemdNotifier({"NOTIFY_SOCKET": "/" + "x" * 300}).stopping()


def test_a_full_socket_does_not_block(
    notify_socket: socket.socket,
) -> None:
    systemd = SystemdNotifier(
        {"NOTIFY_SOCKET": str(notify_socket.getsockname())}, timeout=0.01
    )
    sent = 0
    while sent < 10_000 and systemd.ready("well"):
        sent += 1
    assert 0 < sent < 10_000
    notify_socket.recv(4096)
    assert systemd.ready("well")


def test_watchdog_messages_are_not_sent_more_often_than_needed(
    systemd: SystemdNotifier, notify_socket: socket.socket
) -> None:
    assert [systemd.alive() for _ in range(3)] == [True, False, False]
    systemd.stopping()
    assert [notify_socket.recv(4096) for _ in range(2)] == [
        b"WATCHDOG=1",
        b"STOPPING=1",
    ]


def test_a_watchdog_message_never_blocks(notify_socket: socket.socket) -> None:
    environment = {
        "NOTIFY_SOCKET": str(notify_socket.getsockname()),
        "WATCHDOG_USEC": "1",
    }
    systemd = SystemdNotifier(environment, timeout=3600)
    results = [systemd.alive() for _ in range(1_000)]
    assert results[0]
    assert not all(results)


def test_without_a_watchdog_no_watchdog_message_is_sent(
    notify_socket: socket.socket,
) -> None:
    systemd = SystemdNotifier({"NOTIFY_SOCKET": str(notify_socket.getsockname())})
    assert not systemd.alive()
    systemd.stopping()
    assert notify_socket.recv(4096) == b"STOPPING=1"


@pytest.mark.parametrize(
    ("environment", "interval"),
    [
        ({"WATCHDOG_USEC": "60000000"}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
        ({}, None),
    ],
)
def test_watchdog_messages_are_due_twice_per_interval(
    environment: dict[str, str], interval: float | None
) -> None:
    assert SystemdNotifier(environment).interval == interval
