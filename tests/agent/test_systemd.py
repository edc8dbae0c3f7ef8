"""What systemd hears of the agent, at a socket like its own."""

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from forewarn.agent.systemd import Systemd


@pytest.fixture
def ear(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(5)
        yield ear


@pytest.fixture
def systemd(ear: socket.socket) -> Systemd:
    return Systemd(
        {"NOTIFY_SOCKET": str(ear.getsockname()), "WATCHDOG_USEC": "60000000"}
    )


def test_the_beginning_is_told_with_what_the_agent_does(
    systemd: Systemd, ear: socket.socket
) -> None:
    assert systemd.is_there
    assert systemd.ready("watches events of web-0")
    assert ear.recv(4096) == b"READY=1\nSTATUS=watches events of web-0"


def test_signs_of_life_a_status_and_the_end_are_told(
    systemd: Systemd, ear: socket.socket
) -> None:
    assert systemd.alive()
    assert systemd.status("blind")
    assert systemd.stopping()
    assert [ear.recv(4096) for _ in range(3)] == [
        b"WATCHDOG=1",
        b"STATUS=blind",
        b"STOPPING=1",
    ]


def test_a_status_is_one_line_and_not_an_order(
    systemd: Systemd, ear: socket.socket
) -> None:
    systemd.status("a hook wrote\nMAINPID=1\n" + "x" * 5000)
    heard = ear.recv(8192)
    assert heard.startswith(b"STATUS=a hook wrote MAINPID=1 xxx")
    assert heard.count(b"\n") == 0
    assert len(heard) < 1100


def test_an_abstract_socket_is_reached() -> None:
    name = f"forewarn-test-{os.getpid()}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind("\0" + name)
        ear.settimeout(5)
        assert Systemd({"NOTIFY_SOCKET": f"@{name}"}).ready()
        assert ear.recv(4096) == b"READY=1"


@pytest.mark.parametrize("address", ["", "nonsense", "vsock:2:1234", "/\0"])
def test_without_systemd_nobody_is_told(address: str) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": address} if address else {})
    assert not systemd.ready("here I am")
    assert not systemd.alive()
    assert systemd.interval is None


def test_a_systemd_that_has_gone_is_no_trouble(tmp_path: Path) -> None:
    assert not Systemd({"NOTIFY_SOCKET": str(tmp_path / "gone")}).ready()
    assert not Systemd({"NOTIFY_SOCKET": "/" + "x" * 300}).ready()


def test_a_systemd_that_does_not_listen_is_not_waited_for(
    ear: socket.socket,
) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": str(ear.getsockname())}, patience=0.01)
    sent = 0
    while sent < 10_000 and systemd.status("well"):
        sent += 1
    assert 0 < sent < 10_000
    ear.recv(4096)
    assert systemd.status("well")


def test_signs_of_life_are_not_given_more_often_than_needed(
    systemd: Systemd, ear: socket.socket
) -> None:
    assert [systemd.alive() for _ in range(3)] == [True, False, False]
    systemd.stopping()
    assert [ear.recv(4096) for _ in range(2)] == [b"WATCHDOG=1", b"STOPPING=1"]


def test_a_sign_of_life_waits_for_nobody(ear: socket.socket) -> None:
    told = {"NOTIFY_SOCKET": str(ear.getsockname()), "WATCHDOG_USEC": "1"}
    systemd = Systemd(told, patience=3600)
    given = [systemd.alive() for _ in range(1_000)]
    assert given[0]
    assert not all(given)


def test_nobody_who_does_not_wait_for_signs_of_life_gets_any(
    ear: socket.socket,
) -> None:
    systemd = Systemd({"NOTIFY_SOCKET": str(ear.getsockname())})
    assert not systemd.alive()
    systemd.stopping()
    assert ear.recv(4096) == b"STOPPING=1"


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
def test_signs_of_life_are_due_twice_in_the_time_that_is_allowed(
    environment: dict[str, str], interval: float | None
) -> None:
    assert Systemd(environment).interval == interval
