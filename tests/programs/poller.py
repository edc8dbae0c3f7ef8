"""A poller in its own process, taken through a complete event.

A poller prints each new status on a line (`none` without an event), approves scheduled
events, and exits when the event is gone.
"""

from collections.abc import Sequence
from pathlib import Path

from tests.end_to_end.program import Program
from tests.programs.interactive_program import running_program
from tests.programs.record import approval, vms_that_saw


def check_poller(
    program: Program, vm: str, command: Sequence[str], folder: Path, **environment: str
) -> None:
    """Run the poller of `vm` through announcement, approval, start and end."""
    service = program.service
    with running_program(command, folder, environment) as poller:
        poller.expect("none")
        event = service.announce(type="Reboot", vms=[vm])["events"][0]["id"]
        poller.expect("Scheduled", "Started")
        service.advance(5)
        poller.expect("none", "ended with 0")
    facts = service.facts()
    assert approval(facts, event) == (vm, "metadata")
    assert vms_that_saw(facts, event) == [vm]
