"""A poller in its own process, taken through a complete event.

A poller prints each new status on a line (`none` without an event), approves scheduled
events, and exits when the event is gone.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.end_to_end.program import Program
from tests.programs.http_talker import talking
from tests.programs.record import approval, witnesses


def lead(
    program: Program, vm: str, command: Sequence[str], folder: Path, **environment: str
) -> None:
    """Run the poller of `vm` through announcement, approval, start and end."""
    service = program.service
    with talking(command, folder, environment) as poller:
        poller.expect("none")
        event = service.announce(type="Reboot", vms=[vm])["events"][0]["id"]
        poller.expect("Scheduled", "Started")
        service.advance(5)
        poller.expect("none", "ended with 0")
    facts = service.facts()
    assert approval(facts, event) == (vm, "metadata")
    assert witnesses(facts, event) == [vm]
