"""Killed at any moment, the program goes on where it was: nothing lost or doubled."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.approvals import check_that_approvals_survive_a_kill
from tests.end_to_end.program import Program, serving, until
from tests.server.support.service import RunningService

VMS = ("web-0", "web-1", "db-0", "batch_0")
LISTS = ("maintenances", "events", "journal", "groups", "vms", "hosts")

OPTIONS = ("--clock", "manual", "--driver", "operator")


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """What can be seen from outside."""

    documents: list[tuple[bytes, str]]
    lists: list[Any]
    clock: Any


def a_picture(service: RunningService) -> Picture:
    answers = [service.as_vm(vm) for vm in VMS]
    return Picture(
        documents=[(each.body, each.headers["ETag"]) for each in answers],
        lists=[service.get(f"/v1/{name}?limit=1000")["items"] for name in LISTS],
        clock=service.get("/v1/clock"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Survivor:
    """A program that was killed and started again, and what was seen before."""

    program: Program
    before: Picture
    after: Picture
    started: str  # a maintenance that had started, and was handed to a person


@pytest.fixture(scope="module")
def survivor(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Survivor]:
    """Kill a program that has something in every phase, and start it again."""
    folder = tmp_path_factory.mktemp("crash")
    with serving(folder, *OPTIONS) as program:
        service = program.service
        started = service.announce(vms=["web-0"])
        service.approve_as("web-1", started["events"][0]["id"])
        half = service.announce(host="host-b")
        service.approve_as("batch_1", half["events"][0]["id"])
        canceled = service.announce(vms=["web-2"])
        service.ask("POST", f"/v1/maintenances/{canceled['id']}/cancel")
        service.advance(60)
        before = a_picture(service)
        program.kill()
    with serving(folder, *OPTIONS) as program:
        after = a_picture(program.service)
        yield Survivor(
            program=program, before=before, after=after, started=started["id"]
        )


def test_after_a_kill_vms_read_the_same_documents_and_tags(survivor: Survivor) -> None:
    assert survivor.after.documents == survivor.before.documents


@pytest.mark.parametrize("name", LISTS)
def test_after_a_kill_operators_read_the_same_lists(
    survivor: Survivor, name: str
) -> None:
    index = LISTS.index(name)
    known = survivor.before.lists[index]
    again = survivor.after.lists[index]
    assert len(known) > 1
    assert [each for each in again if each.get("fact") != "WorkBegan"] == [
        each for each in known if each.get("fact") != "WorkBegan"
    ]


def test_after_a_kill_the_clock_stands_where_it_stood(survivor: Survivor) -> None:
    assert survivor.after.clock == survivor.before.clock


def test_after_a_kill_a_tag_still_holds(survivor: Survivor) -> None:
    for vm, (_, tag) in zip(VMS, survivor.before.documents, strict=True):
        answer = survivor.program.service.as_vm(vm, If_None_Match=tag)
        assert (answer.status, answer.body) == (304, b"")


def test_after_a_kill_the_driver_is_asked_again(survivor: Survivor) -> None:
    service = survivor.program.service
    until(lambda: len(service.facts("WorkBegan")) == 2)
    began = service.facts("WorkBegan")
    assert [each["attempt"] for each in began] == [1, 2]
    assert {each["maintenance"] for each in began} == {survivor.started}


def test_after_a_kill_life_goes_on(survivor: Survivor) -> None:
    service = survivor.program.service
    path = f"/v1/maintenances/{survivor.started}"
    assert service.ask("POST", f"{path}/complete").json["phase"] == "COMPLETED"
    assert len(service.facts("Completed")) == 1
    service.advance(15 * 60)
    assert len(service.facts("Started")) == 2
    positions = [each["position"] for each in service.facts()]
    assert positions == [*range(1, len(positions) + 1)]


@pytest.mark.full
def test_an_approval_that_was_answered_survives_a_kill(tmp_path: Path) -> None:
    check_that_approvals_survive_a_kill(tmp_path)
