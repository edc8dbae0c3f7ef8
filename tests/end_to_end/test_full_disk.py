"""A disk that fills up while VMs approve: every client gets a correct response."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import pytest
from tests.end_to_end.program import PORTS, Program, check_sentence, run, serving, until
from tests.end_to_end.small_disk import SmallDisk, a_small_disk
from tests.patience import PATIENCE
from tests.server.support.service import ReceivedResponse

VMS = 64
FLEET = """\
[[groups]]
name = "many"
kind = "scale-set"
listening = "always"
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


class ApprovingClients:
    """Four clients that approve all events as their VMs, and retry until it works."""

    def __init__(self, program: Program, ids: Sequence[str]) -> None:
        self._service = program.service
        self._ids = ids
        self._pool = ThreadPoolExecutor(5)
        self._ended = Event()
        self._is_full = Event()
        self.refused: list[ReceivedResponse] = []
        self.seen: Counter[int] = Counter()  # statuses of GETs
        self.approved: list[str] = []

    def start(self) -> None:
        self._look = self._pool.submit(self._look_all_the_time)
        self._work = [
            self._pool.submit(self._approve, self._ids[share::4]) for share in range(4)
        ]

    def go_on(self) -> None:
        """Approve the second half, because the disk is full now."""
        self._is_full.set()

    def finish(self) -> None:
        """Wait until all events are approved."""
        try:
            for future in self._work:
                future.result(PATIENCE)
        finally:
            self._ended.set()
            self._look.result(PATIENCE)
            self._pool.shutdown()

    def _approve(self, ids: Sequence[str]) -> None:
        for number, event in enumerate(ids):
            if number == len(ids) // 2:
                assert self._is_full.wait(PATIENCE)
            while not self._is_approved(event):
                self._ended.wait(0.02)

    def _is_approved(self, event: str) -> bool:
        answer = self._service.approve_as(f"vm-{self._ids.index(event)}", event)
        if answer.status == 200:
            self.approved.append(event)
        else:
            self.refused.append(answer)
        return answer.status == 200

    def _look_all_the_time(self) -> None:
        while not self._ended.is_set():
            for number in range(VMS):
                self.seen[self._service.as_vm(f"vm-{number}").status] += 1


def test_approvals_survive_a_disk_that_fills_up(
    tmp_path: Path, disk: SmallDisk
) -> None:
    with serving(tmp_path, fleet=FLEET, within=disk.within) as program:
        ids = announce_to_all(program)
        clients = ApprovingClients(program, ids)
        clients.start()
        until(lambda: len(clients.approved) >= 10)
        disk.fill()
        clients.go_on()
        until(lambda: len(clients.refused) >= 20)
        looked = clients.seen.total()
        until(lambda: clients.seen.total() >= looked + 20)
        assert len(clients.approved) < VMS
        disk.free()
        clients.finish()

        assert {*clients.seen} == {200}
        assert {response.status for response in clients.refused} == {503}
        assert all(
            int(response.headers["Retry-After"]) > 0 for response in clients.refused
        )
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
