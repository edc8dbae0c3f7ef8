"""Crash recovery: a killed program continues, with nothing lost or duplicated."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.end_to_end.program import Program, serving, until
from tests.server.support.service import RunningService

VMS = ("web-0", "web-1", "db-0", "batch_0")
LISTS = ("maintenances", "events", "journal", "groups", "vms", "hosts")

OPTIONS = ("--clock", "manual", "--driver", "operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleState:
    """Everything that is visible from outside."""

    documents: list[tuple[bytes, str]]
    lists: list[Any]
    clock: Any


def read_state(service: RunningService) -> VisibleState:
    answers = [service.as_vm(vm) for vm in VMS]
    return VisibleState(
        documents=[(response.body, response.headers["ETag"]) for response in answers],
        lists=[service.get(f"/v1/{name}?limit=1000")["items"] for name in LISTS],
        clock=service.get("/v1/clock"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RestartedProgram:
    """A program restarted after a kill, and what was visible before and after."""

    program: Program
    before: VisibleState
    after: VisibleState
    started: str  # id of a maintenance that an operator was working on


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartedProgram]:
    """Kill a program with maintenance in every phase, and start it again."""
    folder = tmp_path_factory.mktemp("crash")
    with serving(folder, *OPTIONS) as program:
        service = program.service
        started = service.announce(vms=["web-0"])
        service.approve_as("web-1", started["events"][0]["id"])
        half = service.announce(host="host-b")
        service.approve_as("batch_1", half["events"][0]["id"])
        canceled = service.announce(vms=["web-2"])
        service.request("POST", f"/v1/maintenances/{canceled['id']}/cancel")
        service.advance(60)
        until(lambda: len(service.facts("WorkBegan")) == 1)
        before = read_state(service)
        program.kill()
    with serving(folder, *OPTIONS) as program:
        after = read_state(program.service)
        yield RestartedProgram(
            program=program, before=before, after=after, started=started["id"]
        )


def test_after_a_kill_vms_read_the_same_documents_and_tags(
    restarted: RestartedProgram,
) -> None:
    assert restarted.after.documents == restarted.before.documents


@pytest.mark.parametrize("name", LISTS)
def test_after_a_kill_operators_read_the_same_lists(
    restarted: RestartedProgram, name: str
) -> None:
    index = LISTS.index(name)
    before = restarted.before.lists[index]
    again = restarted.after.lists[index]
    assert len(before) > 1
    assert [item for item in again if item.get("fact") != "WorkBegan"] == [
        item for item in before if item.get("fact") != "WorkBegan"
    ]


def test_after_a_kill_the_clock_shows_the_same_time(
    restarted: RestartedProgram,
) -> None:
    assert restarted.after.clock == restarted.before.clock


def test_after_a_kill_etags_are_still_valid(restarted: RestartedProgram) -> None:
    for vm, (_, tag) in zip(VMS, restarted.before.documents, strict=True):
        answer = restarted.program.service.as_vm(vm, If_None_Match=tag)
        assert (answer.status, answer.body) == (304, b"")


def test_after_a_kill_the_driver_is_called_again(restarted: RestartedProgram) -> None:
    service = restarted.program.service
    until(lambda: len(service.facts("WorkBegan")) == 2)
    began = service.facts("WorkBegan")
    assert [fact["attempt"] for fact in began] == [1, 2]
    assert {fact["maintenance"] for fact in began} == {restarted.started}


def test_after_a_kill_maintenance_continues(restarted: RestartedProgram) -> None:
    service = restarted.program.service
    path = f"/v1/maintenances/{restarted.started}"
    assert service.request("POST", f"{path}/complete").json["phase"] == "COMPLETED"
    assert len(service.facts("Completed")) == 1
    service.advance(15 * 60)
    assert len(service.facts("Started")) == 2
    positions = [fact["position"] for fact in service.facts()]
    assert positions == [*range(1, len(positions) + 1)]
