"""The lifecycle of a reboot: announced, seen, approved, carried out and gone."""

import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import Any

from tests.end_to_end.program import Program, run, serving

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
    options = ("--driver", "operator")  # the test ends it
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


def test_a_reboot_completes_from_the_command_line(tmp_path: Path) -> None:
    with serving(tmp_path, "--clock", "manual", FOREWARN_TOKEN=None) as program:
        where = program.service.control
        forewarn = partial(run, tmp_path, FOREWARN_URL=where, FOREWARN_TOKEN=None)
        done = forewarn("announce", "reboot", "--vm", "web-0")
        assert (done.code, done.err) == (0, "")
        event = the_event(program, "web-2", 1)
        assert event["Resources"] == ["web-0"]
        assert forewarn("maintenance", "approve", event["EventId"]).code == 0
        assert the_event(program, "web-2", 2)["EventStatus"] == "Started"
        assert forewarn("clock", "advance", "5s").code == 0
        assert program.service.document("web-2")["Events"] == []
