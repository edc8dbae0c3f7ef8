"""Ended in the middle of a rush, the program keeps all that it has answered."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.client_load import Rush, journal
from tests.end_to_end.program import SOON, Program, serving, until
from tests.lanes import size
from tests.server.support.service import RunningService

GROUPS = 50
ROUNDS = size(2, 4)  # events for each VM
VMS = [f"vm-{group}-{number}" for group in range(GROUPS) for number in range(5)]
FLEET = "".join(
    f'[[groups]]\nname = "{group}"\nkind = "scale-set"\nlistening = "always"\n'
    for group in range(GROUPS)
) + "".join(f'[[vms]]\nname = "{vm}"\ngroup = "{vm.split("-")[1]}"\n' for vm in VMS)


#: What an event shows after a fact; nothing once it is gone.
STATUS_AFTER = {"Announced": "Scheduled", "Started": "Started", "Completed": ""}


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    path = tmp_path / "fleet.toml"
    path.write_text(FLEET)
    return path


def announce_to_all(service: RunningService) -> Mapping[str, str]:
    """Announce events for every VM, and return the VM of each event."""
    body = {"type": "Terminate", "vms": VMS}
    made: list[Any] = []
    for _ in range(ROUNDS):
        made += service.ask("POST", "/v1/maintenances", body).json["maintenances"]
    return {each["events"][0]["id"]: each["vms"][0] for each in made}


def approving(
    service: RunningService, vm_of: Mapping[str, str], ids: Sequence[str]
) -> Rush:
    """Let sixteen clients approve the events `ids`, each as the VM it concerns."""
    return Rush(16, ids, lambda each: service.approve_as(vm_of[each], each).status)


def settled_journal(service: RunningService) -> Sequence[Any]:
    """Read the journal once the work that a kill interrupted has been done."""

    def is_settled() -> bool:
        kinds = Counter(fact["fact"] for fact in journal(service))
        return kinds["Started"] == kinds["Completed"]

    until(is_settled, 30, every=0.1)
    return journal(service)


def check_journal(facts: Sequence[Any]) -> None:
    """Positions have no gaps, times do not go back, nothing is approved twice."""
    assert [each["position"] for each in facts] == [*range(1, len(facts) + 1)]
    times = [datetime.fromisoformat(each["at"]) for each in facts]
    assert times == sorted(times)
    approved = [each["event"] for each in facts if each["fact"] == "Approved"]
    assert len(approved) == len({*approved})


def check_documents(service: RunningService, facts: Sequence[Any]) -> None:
    """Each group is shown what the journal tells, no more and no less."""
    shown: dict[str, dict[str, str]] = {str(each): {} for each in range(GROUPS)}
    events: dict[str, Any] = {}  # by maintenance
    incarnations: dict[str, int] = {}
    for fact in facts:
        if fact["fact"] == "Announced":
            (events[fact["maintenance"]],) = fact["announced"]["events"]
        if fact["fact"] == "Published":
            incarnations[fact["group"]] = fact["incarnation"]
        if fact["fact"] in STATUS_AFTER:
            event = events[fact["maintenance"]]
            shown[event["group"]][event["id"]] = STATUS_AFTER[fact["fact"]]
    for group, expected in shown.items():
        document = service.document(f"vm-{group}-0")
        found = {each["EventId"]: each["EventStatus"] for each in document["Events"]}
        assert found == {event: status for event, status in expected.items() if status}
        assert document["DocumentIncarnation"] == incarnations[group]


def check_after_the_end(
    program: Program, vm_of: Mapping[str, str], answered: Sequence[str]
) -> None:
    """All that was answered is there; whoever was not answered can ask again."""
    facts = settled_journal(program.service)
    check_journal(facts)
    check_documents(program.service, facts)
    approved = {each["event"] for each in facts if each["fact"] == "Approved"}
    assert {*answered} <= approved
    assert len(approved) <= len(answered) + 16  # done, and not answered any more

    rest = [each for each in vm_of if each not in answered]
    again = approving(program.service, vm_of, rest)
    again.join()
    assert (sorted(again.answered), again.refused) == (sorted(rest), [])
    facts = journal(program.service)
    check_journal(facts)
    approved = {each["event"] for each in facts if each["fact"] == "Approved"}
    assert approved == vm_of.keys()


CLOCK = ("--clock", "manual")  # so that nothing moves on while we look


def test_a_kill_amid_approvals_loses_and_doubles_none(
    tmp_path: Path, fleet: Path
) -> None:
    with serving(tmp_path, *CLOCK, fleet=fleet) as program:
        vm_of = announce_to_all(program.service)
        rush = approving(program.service, vm_of, [*vm_of])
        rush.until_answered(len(vm_of) // 10)
        program.kill()
        rush.join()
        assert rush.refused == []
        assert len(rush.answered) < len(vm_of)
    with serving(tmp_path, *CLOCK, fleet=fleet) as program:
        check_after_the_end(program, vm_of, rush.answered)


def test_a_stop_amid_approvals_keeps_all_that_were_answered(
    tmp_path: Path, fleet: Path
) -> None:
    with serving(tmp_path, *CLOCK, fleet=fleet) as program:
        vm_of = announce_to_all(program.service)
        rush = approving(program.service, vm_of, [*vm_of])
        rush.until_answered(len(vm_of) // 10)
        code, seconds = program.stop()
        rush.join()
        assert (code, program.log) == (0, "")
        assert seconds < SOON
        assert rush.refused == []
        assert len(rush.answered) < len(vm_of)
    with serving(tmp_path, *CLOCK, fleet=fleet) as program:
        check_after_the_end(program, vm_of, rush.answered)


def test_a_kill_in_announcements_with_keys_makes_each_of_them_once(
    tmp_path: Path, fleet: Path
) -> None:
    keys = [f"key-{number}" for number in range(size(100, 200))]

    def announcing(service: RunningService, wanted: Sequence[str]) -> Rush:
        def announce(key: str) -> int:
            body = {"type": "Reboot", "vms": [VMS[0]], "description": key}
            path = "/v1/maintenances"
            return service.ask("POST", path, body, Idempotency_Key=key).status

        return Rush(8, wanted, announce)

    with serving(tmp_path, fleet=fleet) as program:
        rush = announcing(program.service, keys)
        rush.until_answered(len(keys) // 10)
        program.kill()
        rush.join()
        assert rush.refused == []
        assert len(rush.answered) < len(keys)
    with serving(tmp_path, fleet=fleet) as program:
        again = announcing(program.service, keys)  # also those that were answered
        again.join()
        assert (len(again.answered), again.refused) == (len(keys), [])
        facts = journal(program.service)
        check_journal(facts)
    made = [each for each in facts if each["fact"] == "Announced"]
    assert sorted(each["announced"]["description"] for each in made) == sorted(keys)
