"""Stop of the metadata plane while work is in progress."""

import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from threading import Event, Thread

from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.support.handlers import a_harness

from forewarn.clocks import ManualClock
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.limits import ConnectionLimits
from forewarn.server.metadata.plane import MetadataPlane

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
LONG = PATIENCE
POST = (
    b"POST /vm/web-0/metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    b"Host: vm\r\nMetadata: true\r\nContent-Length: 38\r\n\r\n"
    b'{"StartRequests":[{"EventId":"ABCD"}]}'
)


class SlowCommands:
    """Commands whose approvals block until `let_go` is set."""

    def __init__(self) -> None:
        self.begun = Event()
        self.let_go = Event()
        self.approved = 0

    def approve_as_vm(self, vm_name: str, event_ids: Sequence[str]) -> None:
        self.begun.set()
        self.let_go.wait(LONG)
        self.approved += 1

    def listen(self, groups: Sequence[str]) -> None:
        raise AssertionError(f"{groups} are not silent")


def a_plane(commands: SlowCommands) -> tuple[MetadataPlane, socket.socket]:
    listening = socket.create_server(("127.0.0.1", 0))
    handler = a_harness(is_open=True).handler
    limit = ConnectionLimits(per_vm=1000, total=1000)
    plane = MetadataPlane([listening], handler, commands, ManualClock(NOON), limit)
    return plane, listening


def test_hand_over_during_a_stop_does_not_block() -> None:
    for _ in range(20):
        plane, _listening = a_plane(SlowCommands())
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
            thread.join(LONG)
        assert not any(thread.is_alive() for thread in threads)


def test_waiting_approvals_are_dropped_by_a_stop() -> None:
    commands = SlowCommands()
    plane, listening = a_plane(commands)
    plane.start()
    clients = [socket.create_connection(listening.getsockname()) for _ in range(30)]
    for client in clients:
        client.sendall(POST)
    assert commands.begun.wait(LONG)
    stopper = Thread(target=plane.stop)
    stopper.start()
    until(lambda: plane._pool._shutdown)  # responses in progress have been waited for
    commands.let_go.set()
    stopper.join(LONG)
    assert not stopper.is_alive()
    assert commands.approved < len(clients)
    for client in clients:
        client.close()
