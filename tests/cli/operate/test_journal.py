"""Tests of `forewarn journal`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, M1, Json, an_entry, page
from tests.cli.support.service import Service, json_reply, stream_reply

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]


def sent(*entries: Json) -> str:
    return "".join(
        f"id: {fact['position']}\nevent: {fact['fact']}\ndata: {json.dumps(fact)}\n\n"
        for fact in entries
    )


def test_the_journal_is_read_to_its_end(service: Service, run: Cli) -> None:
    started = an_entry(8, "Started", maintenance=M1)
    service.respond("GET", "/v1/journal", page(started, following="8"))
    service.respond("GET", "/v1/journal", page(an_entry(9, "Completed")))
    assert run("journal --after 7") == (
        "    8  2026-01-01 12:00:00Z  forewarn    Started\n"
        f"       {M1}\n"
        "    9  2026-01-01 12:00:00Z  forewarn    Completed\n"
    )
    assert [dict(request.query)["after"] for request in service.requests] == ["7", "8"]


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (
            an_entry(1, "Approved", event=E1, by="web-0", text="approved for web"),
            f"web-0 Approved {E1} approved for web",
        ),
        (
            an_entry(1, "WorkRetried", maintenance=M1, text="retried automatically"),
            f"forewarn WorkRetried {M1} retried automatically",
        ),
        (
            an_entry(1, "WorkPrinted", text="x y " * 100),
            f"forewarn WorkPrinted {'x y ' * 99}x y",
        ),
        (an_entry(1, "OfNewerService", shape="new"), "forewarn OfNewerService"),
    ],
)
def test_an_entry_shows_who_what_and_its_text(
    service: Service, entry: Json, shown: str, run: Cli
) -> None:
    service.respond("GET", "/v1/journal", page(entry))
    out = run("journal")
    assert shown in " ".join(out.split())
    assert max(map(len, out.splitlines())) <= 80


def test_json_is_one_line_for_each_fact(service: Service, run: Cli) -> None:
    entries = [an_entry(1, "Started"), an_entry(2, "Completed")]
    service.respond("GET", "/v1/journal", page(*entries))
    lines = run("journal --json").splitlines()
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
