"""Kills and stops under load: every acknowledged request is kept."""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.client_load import ClientLoad, journal
from tests.end_to_end.program import SOON, Program, serving, until
from tests.lanes import size
from tests.postgres import PostgresServer
from tests.server.support.service import RunningService

GROUPS = 50
ROUNDS = size(2, 4)  # events for each VM
VMS = [f"vm-{group}-{number}" for group in range(GROUPS) for number in range(5)]
FLEET = "".join(
    f'[[groups]]\nname = "{group}"\nkind = "scale-set"\nenabled = "always"\n'
    for group in range(GROUPS)
) + "".join(f'[[vms]]\nname = "{vm}"\ngroup = "{vm.split("-")[1]}"\n' for vm in VMS)


#: Status of an event after a fact; empty once the event is gone.
STATUS_AFTER = {"Announced": "Scheduled", "Started": "Started", "Completed": ""}


def announce_to_all(service: RunningService) -> Mapping[str, str]:
    """Announce events for every VM, and return the VM of each event."""
    body = {"type": "Terminate", "vms": VMS}
    maintenances: list[Any] = []
    for _ in range(ROUNDS):
        maintenances += service.request("POST", "/v1/maintenances", body).json[
            "maintenances"
        ]
    return {
        maintenance["events"][0]["id"]: maintenance["vms"][0]
        for maintenance in maintenances
    }


def approving(
    service: RunningService,
    vm_of: Mapping[str, str],
    ids: Sequence[str],
    *,
    is_endless: bool = False,
) -> ClientLoad:
    """Approve the events `ids` with sixteen clients, each event as its own VM."""

    def approve(event: str) -> int:
        return service.approve_as(vm_of[event], event).status

    return ClientLoad(16, ids, approve, is_endless=is_endless)


def settled_journal(service: RunningService) -> Sequence[Any]:
    """Read the journal once the work that a kill interrupted has been done."""

    def is_settled() -> bool:
        kinds = Counter(fact["fact"] for fact in journal(service))
        return kinds["Started"] == kinds["Completed"]

    until(is_settled, every=0.1)
    return journal(service)


def check_journal(facts: Sequence[Any]) -> None:
    """Check that positions have no gaps, times are sorted, and approvals are unique."""
    assert [fact["position"] for fact in facts] == [*range(1, len(facts) + 1)]
    times = [datetime.fromisoformat(fact["at"]) for fact in facts]
    assert times == sorted(times)
    approved = [fact["event"] for fact in facts if fact["fact"] == "Approved"]
    assert len(approved) == len({*approved})


def check_documents(service: RunningService, facts: Sequence[Any]) -> None:
    """Check that each group's document shows exactly what the journal implies."""
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
        statuses = {each["EventId"]: each["EventStatus"] for each in document["Events"]}
        assert statuses == {
            event: status for event, status in expected.items() if status
        }
        assert document["DocumentIncarnation"] == incarnations[group]


def check_after_the_end(
    program: Program, vm_of: Mapping[str, str], answered: AbstractSet[str]
) -> None:
    """Check that acknowledged approvals are kept and all others can be repeated."""
    facts = settled_journal(program.service)
    check_journal(facts)
    check_documents(program.service, facts)
    approved = {item["event"] for item in facts if item["fact"] == "Approved"}
    assert approved >= answered
    assert len(approved) <= len(answered) + 16  # done, but without a response

    rest = [item for item in vm_of if item not in answered]
    again = approving(program.service, vm_of, rest)
    again.join()
    assert (sorted(again.answered), again.refused) == (sorted(rest), [])
    facts = journal(program.service)
    check_journal(facts)
    approved = {item["event"] for item in facts if item["fact"] == "Approved"}
    assert approved == vm_of.keys()


CLOCK = ("--clock", "manual")  # so that nothing changes during the checks


@pytest.mark.parametrize("database", ["sqlite", "postgresql"])
def test_a_kill_during_approvals_loses_and_duplicates_none(
    tmp_path: Path, database: str, request: pytest.FixtureRequest
) -> None:
    options: tuple[str, ...] = CLOCK
    if database == "postgresql":
        server: PostgresServer = request.getfixturevalue("durable_postgres")
        options += ("--store", server.url(schema=server.new_schema()))
    with serving(tmp_path, *options, fleet=FLEET) as program:
        vm_of = announce_to_all(program.service)
        rush = approving(program.service, vm_of, [*vm_of], is_endless=True)
        rush.wait_for_responses(len(vm_of) // 10)
        program.kill()
        rush.join()
        assert rush.refused == []
    with serving(tmp_path, *options, fleet=FLEET) as program:
        check_after_the_end(program, vm_of, {*rush.answered})


def test_a_stop_during_approvals_keeps_the_acknowledged_ones(
    tmp_path: Path,
) -> None:
    with serving(tmp_path, *CLOCK, fleet=FLEET) as program:
        vm_of = announce_to_all(program.service)
        rush = approving(program.service, vm_of, [*vm_of], is_endless=True)
        rush.wait_for_responses(len(vm_of) // 10)
        code, seconds = program.stop()
        rush.join()
        assert (code, program.log) == (0, "")
        assert seconds < SOON
        assert rush.refused == []
    with serving(tmp_path, *CLOCK, fleet=FLEET) as program:
        check_after_the_end(program, vm_of, {*rush.answered})


def test_a_kill_during_announcements_with_idempotency_keys_duplicates_none(
    tmp_path: Path,
) -> None:
    keys = [f"key-{number}" for number in range(size(100, 200))]

    def announcing(service: RunningService, *, is_endless: bool) -> ClientLoad:
        def announce(key: str) -> int:
            body = {"type": "Reboot", "vms": [VMS[0]], "description": key}
            path = "/v1/maintenances"
            return service.request("POST", path, body, Idempotency_Key=key).status

        return ClientLoad(8, keys, announce, is_endless=is_endless)

    with serving(tmp_path, fleet=FLEET) as program:
        rush = announcing(program.service, is_endless=True)
        rush.wait_for_responses(len(keys) // 10)
        program.kill()
        rush.join()
        assert rush.refused == []
    with serving(tmp_path, fleet=FLEET) as program:
        again = announcing(program.service, is_endless=False)
        again.join()
        assert (len(again.answered), again.refused) == (len(keys), [])
        facts = journal(program.service)
        check_journal(facts)
    announced = [fact for fact in facts if fact["fact"] == "Announced"]
    assert sorted(fact["announced"]["description"] for fact in announced) == sorted(
        keys
    )
