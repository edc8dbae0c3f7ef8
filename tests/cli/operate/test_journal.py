"""Tests of `forewarn journal`."""

import json

import pytest
from tests.cli.support.samples import E1, M1, Json, a_maintenance, a_vm, an_entry, page
from tests.cli.support.service import Service, json_reply, stream_reply

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]


def sent(*entries: Json) -> str:
    return "".join(
        f"id: {fact['position']}\nevent: {fact['fact']}\ndata: {json.dumps(fact)}\n\n"
        for fact in entries
    )


def test_the_journal_is_read_to_its_end(service: Service, capsys: Capture) -> None:
    started = an_entry(8, "Started", maintenance=M1)
    service.respond("GET", "/v1/journal", page(started, following="8"))
    service.respond("GET", "/v1/journal", page(an_entry(9, "Completed")))
    assert main.main(["journal", "--after", "7"]) == 0
    assert capsys.readouterr().out == (
        "    8  2026-01-01 12:00:00Z  forewarn    Started\n"
        f"       {M1}\n"
        "    9  2026-01-01 12:00:00Z  forewarn    Completed\n"
    )
    assert [dict(request.query)["after"] for request in service.requests] == ["7", "8"]


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        (
            an_entry(1, "FleetChanged", by="admin", vms=[a_vm("a")], removed_vms=["b"]),
            "admin FleetChanged 1 VM (a); removed 1 VM (b)",
        ),
        (an_entry(1, "ListeningBegan", group="web"), "ListeningBegan group web"),
        (
            an_entry(1, "Announced", announced=a_maintenance(host="host-a")),
            "Reboot of host-a (web-0, web-1), not before 2026-01-01 12:15:00Z",
        ),
        (
            an_entry(1, "Approved", event=E1, group="web", by="web-0", via="metadata"),
            f"web-0 Approved {E1} group web via metadata",
        ),
        (
            an_entry(1, "FleetChanged", removed_vms=["batch_0"]),
            "FleetChanged removed 1 VM (batch_0) by the service, after a deletion",
        ),
        (
            an_entry(1, "VmsLeft", maintenance=M1, vms=["web-0", "web-1"]),
            f"VmsLeft {M1} web-0, web-1 left",
        ),
        (
            an_entry(1, "Withdrawn", event=E1, group="web"),
            f"Withdrawn {E1} group web: its VMs have left",
        ),
        (
            an_entry(1, "WorkPrinted", attempt=1, output="café\nrebooted web-0\n\n"),
            "WorkPrinted attempt 1, 22 bytes, the last line: rebooted web-0",
        ),
        (
            an_entry(1, "WorkPrinted", attempt=1, output="x" * 64_000),
            f"WorkPrinted attempt 1, 64000 bytes, the last line: {'x' * 70}...",
        ),
        (an_entry(1, "WorkPrinted", attempt=3, output=""), "attempt 3, 0 bytes"),
        (
            an_entry(1, "WorkRetried", maintenance=M1),
            f"WorkRetried {M1} by the service, as it is set to",
        ),
        (
            an_entry(1, "WorkRetried", maintenance=M1, by="ops"),
            f"ops WorkRetried {M1}",
        ),
        (an_entry(1, "WorkBegan", attempt=2), "WorkBegan attempt 2"),
        (
            an_entry(1, "WorkFailed", vms=["web-0"], detail="exit 1"),
            "WorkFailed web-0: exit 1",
        ),
        (an_entry(1, "Canceled", reason="rain", by="ops"), "ops Canceled rain"),
        (
            an_entry(1, "Published", group="web", audience="web", incarnation=3),
            "Published web, incarnation 3",
        ),
        (
            an_entry(1, "Seen", sights=[{"event": E1, "vm": "web-0", "at": None}]),
            f"Seen {E1} by web-0",
        ),
        (
            an_entry(
                1,
                "OutageEnded",
                outage={
                    "since": "2026-01-01T11:01:00.250000Z",
                    "until": "2026-01-01T12:00:00Z",
                },
            ),
            "OutageEnded away since 2026-01-01 11:01:00Z",
        ),
        (an_entry(1, "Unheard", shape="new"), "Unheard"),
    ],
)
def test_each_fact_has_its_own_description(
    service: Service, entry: Json, told: str, capsys: Capture
) -> None:
    service.respond("GET", "/v1/journal", page(entry))
    assert main.main(["journal"]) == 0
    out = capsys.readouterr().out
    assert told in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_one_line_for_each_fact(service: Service, capsys: Capture) -> None:
    entries = [an_entry(1, "Started"), an_entry(2, "Completed")]
    service.respond("GET", "/v1/journal", page(*entries))
    assert main.main(["journal", "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [json.loads(line) for line in lines] == entries


def test_follow_resumes_where_the_connection_was_lost(
    service: Service, capsys: Capture
) -> None:
    first, second, third = (an_entry(number, "Started") for number in (1, 2, 3))
    service.respond("GET", "/v1/journal", page(first))
    service.reply_with(
        "GET", "/v1/stream", stream_reply(f": hello\n\n{sent(second)}id: 3\ndata: ")
    )
    service.reply_with("GET", "/v1/stream", stream_reply(sent(second, third)))
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "enough"}, 403))
    assert main.main(["journal", "--follow", "--json"]) == 1
    captured = capsys.readouterr()
    lines = [json.loads(line) for line in captured.out.splitlines()]
    assert lines == [first, second, third]
    assert captured.err == (
        "forewarn: the connection was lost after position 2; trying again\n"
        "forewarn: the connection was lost after position 3; trying again\n"
        "forewarn: enough\n"
    )
    streams = [request for request in service.requests if request.path == "/v1/stream"]
    assert [request.headers["Last-Event-Id"] for request in streams] == ["1", "2", "3"]
