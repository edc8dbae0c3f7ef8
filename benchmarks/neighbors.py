"""Latency of one VM, without attacks and while VMs of another group attack.

Run by `scripts/bench neighbors`. Two groups share the service: *good* polls and
approves at a normal pace, and *evil* sends as much as it can in one of several ways. A
third group has events that nobody approves; they must start on time. Each figure is
the median of the 99th percentiles of several rounds, with the lowest and the highest.
Compare only figures from the same run.
"""

import argparse
import json
import multiprocessing
import select
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPConnection
from itertools import cycle
from pathlib import Path
from typing import Any

from benchmarks.figures import share
from benchmarks.program import ServeProcess, serving
from tests.postgres import a_server
from tests.postgres_binaries import MISSING, binaries

_GOOD = "127.0.0.2"
_EVIL = tuple(f"127.0.3.{number}" for number in range(1, 251))
_VM = '[[vms]]\nname = "{}"\ngroup = "{}"\naddresses = ["{}"]\n'
_FLEET = (
    '[[groups]]\nname = "evil"\nkind = "scale-set"\n'
    '[[groups]]\nname = "good"\nkind = "availability-set"\n'
    '[[groups]]\nname = "due"\nkind = "availability-set"\nenabled = "always"\n'
    + _VM.format("good-0", "good", _GOOD)
    + _VM.format("due-0", "due", "127.0.0.4")
    + "".join(
        _VM.format(f"evil_{number}", "evil", address)
        for number, address in enumerate(_EVIL)
    )
)
_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
_INSTANCE = "/metadata/instance?api-version=2021-02-01"
_CONNECTIONS = (1, 16, 256)
_BAR_GET, _BAR_POST = 50, 250  # milliseconds at the 99th percentile
_BAR_START = 1.0  # seconds after NotBefore
_CLOCK = 10  # times as fast as real time, so that the notice of a Preempt takes 3 s


# --- the attacker ------------------------------------------------------------


def _head(method: str, target: str, *headers: str) -> bytes:
    lines = [f"{method} {target} HTTP/1.1", "Host: vm", "Metadata: true", *headers]
    return "\r\n".join([*lines, "", ""]).encode()


def _large_head(number: int) -> bytes:
    headers = [f"X-{number}-{header}: {'y' * 60}" for header in range(180)]
    return _head("GET", _EVENTS, *headers)


def _post(body: bytes) -> bytes:
    return _head("POST", _EVENTS, f"Content-Length: {len(body)}") + body


def _approval(first: int) -> bytes:
    ids = [{"EventId": f"NONE-{first + number}"} for number in range(100)]
    return _post(json.dumps({"StartRequests": ids}).encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class Attack:
    """Data that each connection of the attacker sends repeatedly."""

    data: bytes
    piece: int = 1 << 20  # bytes sent at a time
    addresses: Sequence[str] = _EVIL[:1]  # of the attacking VMs


_MADE_UP = b"".join(_approval(100 * number) for number in range(20))
_ATTACKS: Mapping[str, Attack] = {
    "pipelined documents": Attack(data=_head("GET", _EVENTS) * 500),
    "pipelined instance data": Attack(data=_head("GET", _INSTANCE) * 500),
    "large request headers": Attack(data=b"".join(map(_large_head, range(20)))),
    "tiny chunks": Attack(
        data=_head("POST", _EVENTS, "Transfer-Encoding: chunked")
        + b"1\r\nx\r\n" * 60_000
    ),
    "slow bodies": Attack(data=_post(b"x" * 60_000), piece=1),
    "made-up approvals": Attack(data=_MADE_UP),
    "made-up approvals, 250 VMs": Attack(data=_MADE_UP, addresses=_EVIL),
}


def _attack(address: tuple[str, int], attack: Attack, connections: int) -> None:
    """Send the data on all connections until the process is killed."""
    data, own = attack.data, cycle(attack.addresses)
    sent = {_connect(address, next(own)): 0 for _ in range(connections)}
    while True:
        readable, writable, _ = select.select([*sent], [*sent], [], 1)
        for connection in {*readable, *writable}:
            try:
                if connection in readable and not connection.recv(1 << 20):
                    raise ConnectionResetError
                if connection in writable:
                    at = sent[connection]
                    piece = data[at : at + attack.piece]
                    sent[connection] = (at + connection.send(piece)) % len(data)
            except BlockingIOError:
                continue
            except OSError:  # refused: try again
                del sent[connection]
                connection.close()
                sent[_connect(address, next(own))] = 0


def _connect(address: tuple[str, int], own: str) -> socket.socket:
    connection = socket.create_connection(address, 10, (own, 0))
    connection.setblocking(False)
    return connection


# --- the neighbor ------------------------------------------------------------


class Neighbor:
    """The VM *good*, and the operator who announces events."""

    def __init__(self, service: ServeProcess) -> None:
        """Connect to `service`."""
        host, _, port = service.metadata.partition(":")
        self.address = (host, int(port))
        self._metadata = HTTPConnection(
            host, int(port), timeout=60, source_address=(_GOOD, 0)
        )
        self._control = HTTPConnection(service.control, timeout=60)
        self._due: list[str] = []  # ids of events that nobody approves
        self._headers = {
            **service.authorization,
            "Content-Type": "application/json",
        }

    def get(self) -> float:
        """Poll; return the duration in seconds."""
        return self._request("GET", None)

    def post(self) -> float:
        """Announce and approve an event; return the duration of the approval."""
        event = self.announce("Reboot", "good-0")
        return self._request("POST", {"StartRequests": [{"EventId": event}]})

    def announce(self, kind: str, vm: str) -> str:
        """Announce an event; return its id."""
        body = {"type": kind, "vms": [vm]}
        announced = self._operate("POST", "/v1/maintenances", body)
        event: str = announced["maintenances"][0]["events"][0]["id"]
        return event

    def announce_due(self) -> None:
        """Announce an event that starts at its NotBefore."""
        self._due.append(self.announce("Preempt", "due-0"))

    def latest_start(self) -> float:
        """Return the longest delay of a start after its NotBefore, in seconds."""
        return max(map(self._lateness, self._due))

    def _lateness(self, event: str) -> float:
        maintenance = self._operate("GET", f"/v1/maintenances/{event}")
        started = datetime.fromisoformat(maintenance["started_at"])
        not_before = datetime.fromisoformat(maintenance["not_before"])
        return (started - not_before).total_seconds() / _CLOCK

    def _operate(self, method: str, path: str, body: object = None) -> Any:
        text = None if body is None else json.dumps(body)
        self._control.request(method, path, text, self._headers)
        response = self._control.getresponse()
        content = response.read()
        if response.status not in (200, 201):
            raise RuntimeError(
                f"{method} {path} returned {response.status}: {content!r}"
            )
        return json.loads(content)

    def _request(self, method: str, body: object) -> float:
        text = None if body is None else json.dumps(body)
        begun = time.perf_counter()
        self._metadata.request(method, _EVENTS, text, {"Metadata": "true"})
        response = self._metadata.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} returned {response.status}")
        return time.perf_counter() - begun


# --- the benchmark -----------------------------------------------------------


def main() -> int:
    """Run the benchmark; return 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--attack",
        default="",
        help="only attacks whose name contains TEXT",
        metavar="TEXT",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="per measurement")
    parser.add_argument(
        "--store",
        default="sqlite,postgresql",
        help="sqlite, postgresql (a private server), or a URL; separated by commas",
    )
    options = parser.parse_args()
    is_missed = False
    for store in options.store.split(","):
        with _store_url(store) as url, tempfile.TemporaryDirectory() as name:
            fleet = Path(name, "fleet.toml")
            fleet.write_text(_FLEET)
            settings = {
                "SHOWN_REBOOT": "0",
                "SHOWN_PREEMPT": "0",
                "CLOCK": f"x{_CLOCK}",
            }
            if url:
                settings["STORE"] = url
            environment = {f"FOREWARN_{key}": value for key, value in settings.items()}
            with serving(Path(name), fleet, **environment) as service:
                is_missed |= _measure_attacks(Neighbor(service), store, options)
    return 1 if is_missed else 0


@contextmanager
def _store_url(store: str) -> Iterator[str]:
    """Yield the URL of a store; empty for a SQLite file in the state directory."""
    if store == "postgresql":
        found = binaries()
        if found is None:
            sys.exit(MISSING)
        with a_server(found) as server:
            yield server.url()
    else:
        yield "" if store == "sqlite" else store


def _measure_attacks(
    neighbor: Neighbor, store: str, options: argparse.Namespace
) -> bool:
    """Print a table; return whether a limit is exceeded."""
    name = store if "://" not in store else "the store at the URL"
    sys.stdout.write(f"\n{name:<30}{'GET p99':<25}POST p99\n")
    is_missed = False
    _row(options, "no attack", neighbor)
    chosen = [item for item in _ATTACKS.items() if options.attack in item[0]]
    for attack_name, attack in chosen:
        for count in _CONNECTIONS:
            attacker = multiprocessing.Process(
                target=_attack, args=(neighbor.address, attack, count), daemon=True
            )
            attacker.start()
            time.sleep(1)  # until it runs at full speed
            is_missed |= _row(options, f"{attack_name} x{count}", neighbor)
            if not attacker.is_alive():
                raise RuntimeError(f"the attacker exited with {attacker.exitcode}")
            attacker.kill()
            attacker.join()
    _row(options, "no attack, again", neighbor)
    time.sleep(30 / _CLOCK + 1)  # until the last Preempt has started
    late = neighbor.latest_start()
    sys.stdout.write(f"latest start: {late:.3f} s after NotBefore\n")
    return is_missed or late > _BAR_START


def _row(options: argparse.Namespace, what: str, neighbor: Neighbor) -> bool:
    """Print a row; return whether a limit is exceeded."""
    highs: tuple[list[float], list[float]] = [], []
    for _ in range(options.rounds):
        neighbor.announce_due()
        for call, values in zip((neighbor.get, neighbor.post), highs, strict=True):
            values.append(share(_measure(call, options.seconds), 0.99) * 1000)
    medians = [statistics.median(values) for values in highs]
    figures = (
        f"{median:.2f} ms [{min(values):.2f}-{max(values):.2f}]"
        for median, values in zip(medians, highs, strict=True)
    )
    sys.stdout.write(f"{what:<30}{''.join(f'{text:<25}' for text in figures)}".rstrip())
    sys.stdout.write("\n")
    sys.stdout.flush()
    return medians[0] > _BAR_GET or medians[1] > _BAR_POST


def _measure(call: Callable[[], float], seconds: float) -> Sequence[float]:
    """Call repeatedly, at most 200 times per second; return all durations."""
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        taken.append(call())
        time.sleep(0.005)
    return taken


if __name__ == "__main__":
    sys.exit(main())
