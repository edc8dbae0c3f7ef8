"""Concurrent approvals interrupted by a kill, for any store."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from threading import Event

from tests.end_to_end.program import Program, serving
from tests.patience import PATIENCE

MANY = """\
[[groups]]
name = "many"
kind = "scale-set"
listening = "always"
""" + "".join(
    f'[[vms]]\nname = "vm-{number}"\ngroup = "many"\n' for number in range(64)
)


def check_that_approvals_survive_a_kill(folder: Path, store: str | None = None) -> None:
    """Kill the program while VMs approve; approvals that got a 200 must survive."""
    fleet = folder / "many.toml"
    fleet.write_text(MANY)
    with serving(folder, fleet=fleet, FOREWARN_STORE=store) as program:
        service = program.service
        body = {"type": "Terminate", "group": "many"}
        created = service.request("POST", "/v1/maintenances", body).json["maintenances"]
        ids = [item["events"][0]["id"] for item in created]
        answered = approve_until_killed(program, ids)
    assert 10 <= len(answered) < len(ids)
    with serving(folder, fleet=fleet, FOREWARN_STORE=store) as program:
        facts = program.service.facts()
    approved = [item["event"] for item in facts if item["fact"] == "Approved"]
    assert {*answered} <= {*approved}
    assert len(approved) == len({*approved})
    assert [item["position"] for item in facts] == [*range(1, len(facts) + 1)]


def approve_until_killed(program: Program, ids: Sequence[str]) -> list[str]:
    """Approve each event as its own VM, concurrently, and kill after the tenth.

    Return the events whose approval got a 200.
    """
    answered: list[str] = []
    enough = Event()

    def approve(number: int, event: str) -> None:
        try:
            status = program.service.approve_as(f"vm-{number}", event).status
        except (OSError, HTTPException):
            return  # killed before it responded
        if status == 200:
            answered.append(event)
        if len(answered) >= 10:
            program.process.kill()  # at once, before the other clients are done
            enough.set()

    with ThreadPoolExecutor(8) as pool:
        for number, event in enumerate(ids):
            pool.submit(approve, number, event)
        assert enough.wait(PATIENCE)
        program.kill()
    return answered
