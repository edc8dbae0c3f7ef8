"""The life of a reboot: announced, seen, approved, carried out and gone."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.program import Program, run, serving, until

EMPTY = b'{"DocumentIncarnation":0,"Events":[]}'
GUID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
RFC_1123 = re.compile(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")
WEB = ("web-0", "web-1", "web-2")


def the_event(program: Program, vm: str, incarnation: int) -> Any:
    document = program.service.document(vm)
    assert document["DocumentIncarnation"] == incarnation
    (event,) = document["Events"]
    return event


def test_a_reboot_in_real_time(tmp_path: Path) -> None:
    options = ("--driver", "operator")  # it ends when the test says so
    with serving(tmp_path, *options, FOREWARN_SHOWN_REBOOT="0") as program:
        service = program.service
        for vm in (*WEB, "db-0"):
            assert service.as_vm(vm).body == EMPTY

        made = service.announce(vms=["web-0"])
        events = [the_event(program, vm, 1) for vm in WEB]
        assert events[0] == events[1] == events[2]
        assert GUID.fullmatch(events[0]["EventId"])
        assert RFC_1123.fullmatch(events[0]["NotBefore"])
        left = parsedate_to_datetime(events[0]["NotBefore"]) - datetime.now(UTC)  # noqa: TID251  # against the program's clock
        assert timedelta(minutes=14) < left <= timedelta(minutes=15, seconds=1)
        assert events[0]["Resources"] == ["web-0"]
        assert service.as_vm("db-0").body == EMPTY

        answer = service.approve_as("web-1", events[0]["EventId"])
        assert (answer.status, answer.body) == (200, b"")
        started = service.as_vm("web-2")
        assert started.json["DocumentIncarnation"] == 2
        assert b'"EventStatus":"Started"' in started.body
        assert b'"NotBefore":""' in started.body

        done = service.request("POST", f"/v1/maintenances/{made['id']}/complete")
        assert done.json["phase"] == "COMPLETED"
        for vm in WEB:
            assert service.document(vm) == {"DocumentIncarnation": 3, "Events": []}
        assert service.as_vm("db-0").body == EMPTY


@pytest.mark.full
def test_a_reboot_with_a_manual_clock(tmp_path: Path) -> None:
    with serving(tmp_path, "--clock", "manual") as program:
        service = program.service
        assert service.as_vm("web-0").body == EMPTY
        service.announce(vms=["web-0"])
        assert the_event(program, "web-1", 1)["EventStatus"] == "Scheduled"
        service.advance(15 * 60 - 1)
        assert the_event(program, "web-1", 1)["EventStatus"] == "Scheduled"
        service.advance(1)
        started = the_event(program, "web-1", 2)
        assert (started["EventStatus"], started["NotBefore"]) == ("Started", "")
        service.advance(5)
        assert service.document("web-1") == {"DocumentIncarnation": 3, "Events": []}
        assert service.as_vm("db-0").body == EMPTY


@pytest.mark.full
def test_a_preempt_sixty_times_as_fast(tmp_path: Path) -> None:
    with serving(tmp_path, "--clock", "x60", FOREWARN_SHOWN_PREEMPT="0.3") as program:
        service = program.service
        assert service.as_vm("batch_0").headers["Forewarn-Clock"] == "60"
        service.announce(type="Preempt", vms=["batch_0"])
        until(lambda: service.document("batch_1")["DocumentIncarnation"] == 2)
        assert the_event(program, "batch_1", 2)["EventStatus"] == "Started"
        until(lambda: service.document("batch_1")["Events"] == [])
        announced, started, completed = (
            datetime.fromisoformat(fact["at"])
            for fact in service.facts("Announced", "Started", "Completed")
        )
        assert started - announced >= timedelta(seconds=30)
        assert completed - started >= timedelta(seconds=60 * 0.3)  # in real time


def test_a_reboot_from_the_command_line(tmp_path: Path) -> None:
    with serving(tmp_path, "--clock", "manual", FOREWARN_TOKEN=None) as program:
        where = {"FOREWARN_URL": program.service.control, "FOREWARN_TOKEN": None}
        done = run(tmp_path, "announce", "reboot", "--vm", "web-0", **where)
        assert (done.code, done.err) == (0, "")
        event = the_event(program, "web-2", 1)
        assert event["Resources"] == ["web-0"]
        assert run(tmp_path, "events", "approve", event["EventId"], **where).code == 0
        assert the_event(program, "web-2", 2)["EventStatus"] == "Started"
        assert run(tmp_path, "clock", "advance", "5s", **where).code == 0
        assert program.service.document("web-2")["Events"] == []
