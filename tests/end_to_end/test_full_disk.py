"""A disk that fills up while VMs approve: every client gets a correct response."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import pytest
from tests.end_to_end.client_load import ClientLoad, polling
from tests.end_to_end.program import PORTS, Program, check_sentence, run, serving, until
from tests.end_to_end.small_disk import SmallDisk, a_small_disk
from tests.patience import PATIENCE
from tests.server.support.service import ReceivedResponse

VMS = 64
FLEET = """\
[[groups]]
name = "many"
kind = "scale-set"
enabled = "always"
""" + "".join(f'[[vms]]\nname = "vm-{each}"\ngroup = "many"\n' for each in range(VMS))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    (tmp_path / "state").mkdir()
    with a_small_disk(tmp_path / "state") as small_disk:
        yield small_disk


def announce_to_all(program: Program) -> list[str]:
    """Announce one event per VM, and return the event ids."""
    body = {"type": "Terminate", "group": "many"}
    answer = program.service.request("POST", "/v1/maintenances", body)
    return [
        maintenance["events"][0]["id"] for maintenance in answer.json["maintenances"]
    ]


def check_that_each_was_approved_once(program: Program, ids: Sequence[str]) -> None:
    facts = program.service.facts()
    assert [fact["position"] for fact in facts] == [*range(1, len(facts) + 1)]
    approved = [fact["event"] for fact in facts if fact["fact"] == "Approved"]
    assert sorted(approved) == sorted(ids)


def test_approvals_survive_a_disk_that_fills_up(
    tmp_path: Path, disk: SmallDisk
) -> None:
    refused: list[ReceivedResponse] = []
    is_full = Event()
    with serving(tmp_path, fleet=FLEET, within=disk.within) as program:
        service = program.service
        ids = announce_to_all(program)

        def approve(event: str) -> int:
            """Approve until it works; the second half waits for the full disk."""
            number = ids.index(event)
            assert number < VMS // 2 or is_full.wait(PATIENCE)
            while (answer := service.approve_as(f"vm-{number}", event)).status != 200:
                refused.append(answer)
                time.sleep(0.02)
            return answer.status

        with polling(service, *(f"vm-{number}" for number in range(VMS))) as seen:
            clients = ClientLoad(4, ids, approve)
            clients.wait_for_responses(10)
            disk.fill()
            is_full.set()
            until(lambda: len(refused) >= 20)
            polled = seen.total()
            until(lambda: seen.total() >= polled + 20)
            assert len(clients.answered) < VMS
            disk.free()
            clients.join()

        assert {*seen} == {200}
        assert {response.status for response in refused} == {503}
        assert all(int(response.headers["Retry-After"]) > 0 for response in refused)
        check_that_each_was_approved_once(program, ids)
        assert len(program.log.splitlines()) <= 4  # not one for each request
        assert "Traceback" not in program.log


def test_a_kill_on_a_full_disk_loses_nothing(tmp_path: Path, disk: SmallDisk) -> None:
    with serving(tmp_path, fleet=FLEET, within=disk.within) as program:
        ids = announce_to_all(program)
        for number in range(10):
            program.service.approve_as(f"vm-{number}", ids[number])
        disk.fill()
        assert program.service.approve_as("vm-10", ids[10]).status == 503
        before = program.service.as_vm("vm-0")
        program.kill()

    refused = run(tmp_path, "serve", *PORTS, within=disk.within)
    check_sentence(refused, 1, "full")

    disk.free()
    with serving(tmp_path, fleet=FLEET, within=disk.within) as program:
        after = program.service.as_vm("vm-0")
        assert (after.body, after.headers["ETag"]) == (
            before.body,
            before.headers["ETag"],
        )
        check_that_each_was_approved_once(program, ids[:10])
        assert program.service.approve_as("vm-10", ids[10]).status == 200


def test_a_first_start_on_a_full_disk_reports_it(
    tmp_path: Path, disk: SmallDisk
) -> None:
    disk.fill()
    words = ("serve", *PORTS)
    refused = run(tmp_path, *words, within=disk.within, FOREWARN_TOKEN=None)
    check_sentence(refused, 1)
    assert [file.name for file in disk.outside.iterdir()] == ["ballast"]
