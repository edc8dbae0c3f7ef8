"""Latency of one VM, quiet and while another VM attacks the metadata plane.

Run by `scripts/bench neighbors`. Two VMs share the service: *good* polls and approves
at a normal pace, *evil* sends as much as it can in one of several ways. Each figure is
the median of several rounds, with the lowest and the highest. Compare figures of one
run.
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
from collections.abc import Callable, Mapping, Sequence
from http.client import HTTPConnection
from pathlib import Path

from benchmarks.figures import line, share
from benchmarks.program import ServeProcess, serving

_GOOD, _EVIL = "127.0.0.2", "127.0.0.3"  # addresses of the two VMs
_FLEET = "".join(
    f'[[vms]]\nname = "{name}"\naddresses = ["{address}"]\n'
    for name, address in (("good", _GOOD), ("evil", _EVIL))
)
_EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
_INSTANCE = "/metadata/instance?api-version=2021-02-01"
_CONNECTIONS = (1, 16, 256)
_BAR_GET, _BAR_POST = 0.050, 0.250  # seconds at the 99th percentile


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


#: What each connection of the attacker sends, again and again.
_ATTACKS: Mapping[str, bytes] = {
    "pipelined documents": _head("GET", _EVENTS) * 500,
    "pipelined instance data": _head("GET", _INSTANCE) * 500,
    "large heads": b"".join(map(_large_head, range(20))),
    "tiny chunks": _head("POST", _EVENTS, "Transfer-Encoding: chunked")
    + b"1\r\nx\r\n" * 60_000,
    "made-up approvals": b"".join(_approval(100 * number) for number in range(20)),
}


def _attack(address: tuple[str, int], data: bytes, connections: int) -> None:
    """Send `data` on all connections until the process is ended."""
    sent = {_connect(address): 0 for _ in range(connections)}
    while True:
        readable, writable, _ = select.select([*sent], [*sent], [], 1)
        for connection in {*readable, *writable}:
            try:
                if connection in readable and not connection.recv(1 << 20):
                    raise ConnectionResetError
                if connection in writable:
                    at = sent[connection]
                    sent[connection] = (at + connection.send(data[at:])) % len(data)
            except BlockingIOError:
                continue
            except OSError:  # refused: try again
                del sent[connection]
                connection.close()
                sent[_connect(address)] = 0


def _connect(address: tuple[str, int]) -> socket.socket:
    connection = socket.create_connection(address, 10, (_EVIL, 0))
    connection.setblocking(False)
    return connection


# --- the neighbor ------------------------------------------------------------


class Neighbor:
    """The VM *good*, and the operator who announces its events."""

    def __init__(self, service: ServeProcess) -> None:
        """Connect to `service`."""
        host, _, port = service.metadata.partition(":")
        self.address = (host, int(port))
        self._metadata = HTTPConnection(
            host, int(port), timeout=60, source_address=(_GOOD, 0)
        )
        self._control = HTTPConnection(service.control, timeout=60)
        self._authorization = service.authorization

    def get(self) -> float:
        """Return the seconds that a poll takes."""
        return self._request("GET", None)

    def post(self) -> float:
        """Announce an event; return the seconds that its approval takes."""
        body = json.dumps({"type": "Reboot", "vms": ["good"]})
        headers = {**self._authorization, "Content-Type": "application/json"}
        self._control.request("POST", "/v1/maintenances", body, headers)
        announced = json.loads(self._control.getresponse().read())
        event = announced["maintenances"][0]["events"][0]["id"]
        return self._request("POST", {"StartRequests": [{"EventId": event}]})

    def _request(self, method: str, body: object) -> float:
        text = None if body is None else json.dumps(body)
        begun = time.perf_counter()
        self._metadata.request(method, _EVENTS, text, {"Metadata": "true"})
        response = self._metadata.getresponse()
        response.read()
        if response.status != 200:
            raise RuntimeError(f"{method} returned {response.status}")
        return time.perf_counter() - begun


def _measure(call: Callable[[], float], seconds: float) -> Sequence[float]:
    """Call again and again, at most 200 times a second; return what each took."""
    taken, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        taken.append(call())
        time.sleep(0.005)
    return taken


# --- the benchmark -----------------------------------------------------------


def main() -> int:
    """Run the benchmark; return 1 if a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3, help="of each measurement")
    parser.add_argument("--store", default="", help="default: a SQLite file")
    options = parser.parse_args()
    is_missed = False
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fleet = folder / "fleet.toml"
        fleet.write_text(_FLEET)
        environment = {"FOREWARN_SHOWN_REBOOT": "0"}
        if options.store:
            environment["FOREWARN_STORE"] = options.store
        with serving(folder, fleet, **environment) as service:
            neighbor = Neighbor(service)
            for method, call, bar in (
                ("GET", neighbor.get, _BAR_GET),
                ("POST", neighbor.post, _BAR_POST),
            ):
                _row(options, f"{method}, quiet", call)
                for attack, data in _ATTACKS.items():
                    for count in _CONNECTIONS:
                        arguments = (neighbor.address, data, count)
                        attacker = multiprocessing.Process(
                            target=_attack, args=arguments, daemon=True
                        )
                        attacker.start()
                        time.sleep(1)  # until it is in full swing
                        high = _row(options, f"{method}, {attack} x{count}", call)
                        attacker.kill()
                        attacker.join()
                        is_missed |= high > bar
    return 1 if is_missed else 0


def _row(options: argparse.Namespace, what: str, call: Callable[[], float]) -> float:
    """Print a row; return the median of the 99th percentiles, in seconds."""
    rounds = [_measure(call, options.seconds) for _ in range(options.rounds)]
    halves = [share(taken, 0.5) * 1000 for taken in rounds]
    highs = [share(taken, 0.99) * 1000 for taken in rounds]
    figures = "   ".join(
        f"{name} {statistics.median(values):7.2f} ms [{min(values):.2f}-"
        f"{max(values):.2f}]"
        for name, values in (("p50", halves), ("p99", highs))
    )
    sys.stdout.write(line(f"{what:<40}", figures))
    sys.stdout.flush()
    return statistics.median(highs) / 1000


if __name__ == "__main__":
    sys.exit(main())
