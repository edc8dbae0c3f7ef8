"""Tests of `forewarn journal`."""

import json

import pytest
import yaml
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, M1, Json, an_entry, page
from tests.cli.support.service import Service, json_reply, stream_reply

from forewarn.cli import main
from forewarn.core.queries.search import KINDS

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
        "    8  2026-01-01 12:00:00Z  forewarn    Started  m-1\n"
        "    9  2026-01-01 12:00:00Z  forewarn    Completed\n"
    )
    assert [dict(request.query)["after"] for request in service.requests] == ["7", "8"]


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        (
            an_entry(
                1,
                "Approved",
                maintenance=M1,
                event=E1,
                by="web-0",
                text="approved for web",
            ),
            "web-0 Approved m-1 approved for web",
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
def test_an_entry_shows_actor_fact_and_text(
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
        "forewarn: connection lost after position 2; retrying\n"
        "forewarn: connection lost after position 3; retrying\n"
        "forewarn: enough\n"
    )
    streams = [request for request in service.requests if request.path == "/v1/stream"]
    assert [request.headers["Last-Event-Id"] for request in streams] == ["1", "2", "3"]


# --- search ------------------------------------------------------------------


def positions(output: str) -> list[int]:
    return [int(json.loads(line)["position"]) for line in output.splitlines()]


@pytest.mark.parametrize(
    ("words", "query"),
    [
        (["--group", "web"], [("group", "web")]),
        (["--group", "web,db"], [("group", "web"), ("group", "db")]),
        (["--vm", "a", "--vm", "b"], [("vm", "a"), ("vm", "b")]),
        (["--by", "ops"], [("by", "ops")]),
        (["--who", "ops", "--by", "web-0"], [("by", "web-0"), ("by", "ops")]),
        (["--fact", "started"], [("fact", "Started")]),
        (["--maintenance", M1.lower()], [("maintenance", M1.lower())]),
        (["--since", "2026-01-01"], [("since", "2026-01-01T00:00:00+00:00")]),
        (
            ["--since", "2026-01-01T02:00:00+02:00", "--until", "2026-01-02"],
            [
                ("since", "2026-01-01T00:00:00+00:00"),
                ("until", "2026-01-02T00:00:00+00:00"),
            ],
        ),
        (["--since", "2h"], [("since", "2026-01-31T10:00:00+00:00")]),
        (["--since", "30d"], [("since", "2026-01-01T12:00:00+00:00")]),
        (
            ["--since", "2026-01-01", "--until", "1h"],
            [
                ("since", "2026-01-01T00:00:00+00:00"),
                ("until", "2026-01-31T11:00:00+00:00"),
            ],
        ),
    ],
)
def test_search_options_become_query_parameters(
    service: Service, words: list[str], query: list[tuple[str, str]], run: Cli
) -> None:
    service.set_clock("2026-01-31T12:00:00Z")
    service.respond("GET", "/v1/journal", page(an_entry(1, "Started")))
    run("journal", *words)
    sent = service.requests[-1].query
    assert [pair for pair in sent if pair[0] not in ("limit", "after")] == query


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--fact", "ListeningBegan"], 'it is now called "Enabled"'),
        (["--fact", "Begun"], f"expected one of: {', '.join(KINDS)}"),
        (
            ["--since", "yesterday"],
            "is not a valid time; for example, use 2026-01-31T12:15:00Z,",
        ),
        (["--since", "2026-13-01"], "is not a valid time"),
        (["--since", "2026-01-01T00:00"], "has no time zone"),
        (["--last", "3", "--after", "3"], "--last and --after cannot be used together"),
        (["--follow", "--until", "2h"], "--follow and --until cannot be used together"),
    ],
)
def test_contradictory_options_are_wrong_usage(
    service: Service, words: list[str], sentence: str, run: Cli
) -> None:
    service.set_clock("2026-01-31T12:00:00Z")
    assert sentence in " ".join(run("journal", *words, code=2).split())


def test_time_out_of_range_is_wrong_usage(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-31T12:00:00Z")
    assert "--since is out of range" in run("journal --since 9999999d", code=2)


def test_last_entries_are_shown_in_order(service: Service, run: Cli) -> None:
    third, second, first = (an_entry(number, "Started") for number in (3, 2, 1))
    service.respond("GET", "/v1/journal", page(third, second, following="2"))
    service.respond("GET", "/v1/journal", page(first))
    assert positions(run("journal --json --last 2 --vm a")) == [2, 3]
    [request] = service.requests
    assert request.query == [("vm", "a"), ("order", "newest"), ("limit", "2")]


def test_last_entries_are_searched_page_by_page(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(9, "Started"), following="7"))
    service.respond("GET", "/v1/journal", page(following="4"))
    service.respond("GET", "/v1/journal", page(an_entry(2, "Started")))
    assert positions(run("journal --json --last 5 --group web")) == [2, 9]


def test_empty_pages_are_skipped(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/journal", page(following="5000"))
    service.respond("GET", "/v1/journal", page(an_entry(7000, "Started")))
    assert positions(run("journal --json --group web")) == [7000]


def test_follow_continues_with_the_same_search(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(80, "Seen")))
    service.respond("GET", "/v1/journal", page(an_entry(7, "Started")))
    entry = an_entry(95, "Started")
    text = f"id: 90\n\nid: 95\nevent: Started\ndata: {json.dumps(entry)}\n\nid: 99\n\n"
    service.reply_with("GET", "/v1/stream", stream_reply(text))
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "enough"}, 403))
    line = "journal --json --follow --since 2026-01-01 --fact started"
    assert positions(run(line, code=1)) == [7, 95]
    streams = [stream for stream in service.requests if stream.path == "/v1/stream"]
    assert [stream.headers["Last-Event-Id"] for stream in streams] == ["80", "99"]
    assert [stream.query for stream in streams] == [[("fact", "Started")]] * 2


def test_follow_shows_nothing_before_a_future_position(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(80, "Seen")))
    service.respond("GET", "/v1/journal", page())
    service.reply_with("GET", "/v1/stream", json_reply({"detail": "enough"}, 403))
    assert run("journal --json --follow --after 90", code=1) == "forewarn: enough\n"
    [stream] = [request for request in service.requests if request.path == "/v1/stream"]
    assert stream.headers["Last-Event-Id"] == "90"


def test_yaml_is_a_document_per_entry(service: Service, run: Cli) -> None:
    entries = [an_entry(1, "Started", text="no: 'yes'"), an_entry(2, "Completed")]
    service.respond("GET", "/v1/journal", page(*entries))
    assert [*yaml.safe_load_all(run("journal -o yaml"))] == entries


def test_unknown_name_is_an_error_if_no_entry_matches(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/v1/journal", page())
    service.respond("GET", "/v1/vms/web-0", {})
    service.refuse("GET", "/v1/groups/webb", 404, "group webb not found")
    assert run("journal --vm web-0") == ""
    assert run("journal --vm web-0 --group webb", code=1) == (
        "forewarn: group webb not found\n"
    )


def test_names_that_have_left_the_fleet_are_valid(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/journal", page(an_entry(1, "Started")))
    assert "Started" in run("journal --vm gone")
