"""Enabling of disabled groups on a plane with slow commands."""

import socket
from collections.abc import Sequence
from dataclasses import replace
from threading import Event

from tests.patience import PATIENCE
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import NOON, QUIET, a_harness, shown
from tests.server.support.pollers import Poller

from forewarn.clocks import ManualClock
from forewarn.core.fleet import VM
from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.limits import ConnectionLimits
from forewarn.server.metadata.plane import MetadataPlane

LONG = PATIENCE
GROUPS = tuple(replace(QUIET, name=name) for name in ("a", "b", "c"))
VMS = tuple(VM(name=each.name, group=each.name) for each in GROUPS)


class SlowCommands:
    """Commands that enable groups only after `let_go` is set."""

    def __init__(self) -> None:
        self.plane: MetadataPlane | None = None
        self.begun = Event()
        self.let_go = Event()
        self.turns: list[set[str]] = []

    def approve_as_vm(self, vm_name: str, event_ids: Sequence[str]) -> None:
        raise AssertionError(f"{vm_name} approves {event_ids}")

    def listen(self, groups: Sequence[str]) -> None:
        self.turns.append({*groups})
        self.begun.set()
        self.let_go.wait(LONG)
        enabled = [replace(group, last_request=NOON) for group in GROUPS]
        documents = [
            shown(group, epoch="e1") for group in enabled if group.name in groups
        ]
        assert self.plane is not None
        self.plane.apply_update(DocumentUpdate(position=1, shown=documents))


def test_groups_that_poll_while_another_is_enabled_share_a_transaction() -> None:
    commands = SlowCommands()
    listening = socket.create_server(("127.0.0.1", 0))
    handler = a_harness(is_open=True, vms=VMS, groups=GROUPS).handler
    limit = ConnectionLimits(per_vm=100, total=100)
    plane = MetadataPlane([listening], handler, commands, ManualClock(NOON), limit)
    commands.plane = plane
    plane.start()
    host, port = listening.getsockname()
    pollers = {vm.name: Poller(f"http://{host}:{port}", vm.name) for vm in VMS}
    for name, poller in pollers.items():
        target = f"/vm/{name}/metadata/scheduledevents?api-version=2020-07-01"
        versions = f"/vm/{name}/metadata/versions"
        first = a_request(versions, "Metadata: true")
        poller.socket.sendall(first + a_request(target, "Metadata: true"))
        assert poller.answer().status == 200  # so the second request is being processed
        assert commands.begun.wait(LONG)
    commands.let_go.set()
    for poller in pollers.values():
        with poller:
            assert poller.answer().status == 200
    plane.stop()
    assert commands.turns == [{"a"}, {"b", "c"}]
