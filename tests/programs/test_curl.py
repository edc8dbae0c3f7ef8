"""curl, as the documentation uses it and in other common ways."""

import json
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, Program
from tests.programs.deployment import URL, Deployment
from tests.programs.installed import needs, run_program
from tests.programs.record import approval, start_requests, url_of, vms_that_saw

pytestmark = needs("curl")

STATUS = ("-w", "%{http_code}")
MARK = ("-H", "Metadata:true")
#: Sends no body before a 100 response; by default curl would wait only a second.
EXPECT_100 = ("-H", "Expect: 100-continue", "--expect100-timeout", "30")


def curl(folder: Path, *words: str, typed: str = "") -> str:
    """Run curl, which must succeed."""
    options = ("--silent", "--show-error", "--max-time", "10")
    done: FinishedCommand = run_program(
        folder, "curl", *options, *MARK, *words, typed=typed
    )
    assert done.code == 0, done.err
    return done.out


def announced(program: Program, vm: str) -> str:
    return str(program.service.announce(type="Freeze", vms=[vm])["events"][0]["id"])


# --- as documented -----------------------------------------------------------


def test_the_documented_commands_work_at_the_real_address(
    deployment: Deployment,
) -> None:
    event = deployment.announce("reboot", "db-0")
    read = deployment.on("db-0", "curl", "-H", "Metadata:true", URL)
    assert ids(read.out) == [event]
    body = f'{{"StartRequests": [{{"EventId": "{event}"}}]}}'
    posted = ("-H", "Metadata:true", "-X", "POST", "-d", body, *STATUS, URL)
    assert deployment.on("db-0", "curl", *posted).out == "200"
    facts = deployment.facts()
    assert approval(facts, event) == ("db-0", "metadata")
    assert vms_that_saw(facts, event) == ["db-0"]


def test_the_older_documented_command_sends_the_incarnation(
    program: Program, tmp_path: Path
) -> None:
    event = announced(program, "db-0")
    old = url_of(program, "db-0").replace("2020-07-01", "2017-03-01")
    body = f'{{"DocumentIncarnation":"5", "StartRequests": [{{"EventId": "{event}"}}]}}'
    without = ("-H", "Metadata:")  # posts of that version need no header
    assert curl(tmp_path, *without, "-X", "POST", "-d", body, *STATUS, old) == "200"
    assert approval(program.service.facts(), event) == ("db-0", "metadata")


# --- ways to send a body -----------------------------------------------------

WAYS = {
    "form": ("-d",),
    "json": ("--json",),
    "no type": ("-H", "Content-Type:", "-d"),
    "http 1.0": ("--http1.0", "-d"),
    "chunks": ("-H", "Transfer-Encoding: chunked", "-d"),
    "expects 100": (*EXPECT_100, "-d"),
    "closes": ("-H", "Connection: close", "-d"),
    "conditional": ("-H", "If-None-Match: *", "-d"),
}


@pytest.mark.parametrize("way", WAYS)
def test_curl_approves(program: Program, tmp_path: Path, way: str) -> None:
    event = announced(program, "web-0")
    post = (*WAYS[way], start_requests(event), *STATUS)
    assert curl(tmp_path, *post, url_of(program, "web-1")) == "200"
    assert approval(program.service.facts(), event) == ("web-1", "metadata")


def test_curl_uploads_standard_input(program: Program, tmp_path: Path) -> None:
    event = announced(program, "db-0")
    chunked = ("-X", "POST", "-H", "Transfer-Encoding: chunked", "-T", "-", *STATUS)
    url = url_of(program, "db-0")
    assert curl(tmp_path, *chunked, url, typed=start_requests(event)) == "200"
    assert approval(program.service.facts(), event) == ("db-0", "metadata")


def test_a_long_body_with_expect_is_accepted(program: Program, tmp_path: Path) -> None:
    event = announced(program, "db-0")
    padded = start_requests(event) + " " * 60_000
    expect = (*EXPECT_100, "-d", "@-", *STATUS)
    assert curl(tmp_path, *expect, url_of(program, "db-0"), typed=padded) == "200"
    assert approval(program.service.facts(), event) == ("db-0", "metadata")


def test_a_body_that_is_too_long_is_not_sent(program: Program, tmp_path: Path) -> None:
    options = ("-d", "@-", "-o", "answer", "-w", "%{http_code} %{size_upload}")
    url = url_of(program, "db-0")
    assert curl(tmp_path, *EXPECT_100, *options, url, typed="x" * 70_000) == "413 0"
    assert "error" in json.loads((tmp_path / "answer").read_text())


def test_the_response_to_a_body_that_is_too_long_is_read(
    program: Program, tmp_path: Path
) -> None:
    options = ("-H", "Expect:", "-d", "@-", "-o", "answer", *STATUS)
    url = url_of(program, "db-0")
    assert curl(tmp_path, *options, url, typed="x" * 900_000) == "413"
    assert "error" in json.loads((tmp_path / "answer").read_text())


# --- ways to read ------------------------------------------------------------


def ids(document: str) -> list[str]:
    return [event["EventId"] for event in json.loads(document)["Events"]]


@pytest.mark.parametrize("option", ["-0", "--http1.1", "--http2", "--compressed"])
def test_curl_reads(program: Program, tmp_path: Path, option: str) -> None:
    event = announced(program, "web-2")
    assert event in ids(curl(tmp_path, option, url_of(program, "web-0")))


def test_curl_encodes_the_query_itself(program: Program, tmp_path: Path) -> None:
    event = announced(program, "db-0")
    url, _, _ = url_of(program, "db-0").partition("?")
    query = ("-G", "--data-urlencode", "api-version=2020-07-01", "-d", "format=json")
    assert event in ids(curl(tmp_path, *query, url))


def test_a_head_request_gets_405(program: Program, tmp_path: Path) -> None:
    head = curl(tmp_path, "-I", url_of(program, "batch_0")).splitlines()
    assert head[0].startswith("HTTP/1.1 405 ")
    assert "Allow: GET, POST" in head


def test_one_connection_serves_several_urls(program: Program, tmp_path: Path) -> None:
    urls = [url_of(program, vm) for vm in ("web-0", "web-1", "db-0")]
    options = ("-w", "%{stderr}%{http_code} %{num_connects}\n")
    done = run_program(tmp_path, "curl", "-s", "--keepalive", *MARK, *options, *urls)
    assert done.err.splitlines() == ["200 1", "200 0", "200 0"]


def test_many_parallel_requests_succeed(program: Program, tmp_path: Path) -> None:
    at_once = ("-Z", "--parallel-immediate", "--parallel-max", "50", "-o", "#1")
    url = url_of(program, "web-[0-2]").replace("2020-07-01", "2020-07-01&n=[1-20]")
    responses = curl(tmp_path, *at_once, *STATUS, url)
    assert responses == "200" * 60


def test_curl_with_an_etag_gets_changes_only(program: Program, tmp_path: Path) -> None:
    url = url_of(program, "batch_1")
    tags = ("--etag-compare", "tag", "--etag-save", "tag", "-o", "document", *STATUS)
    assert curl(tmp_path, *tags, url) == "200"
    assert curl(tmp_path, *tags, url) == "304"
    event = program.service.announce(type="Preempt", vms=["batch_1"])["events"][0]["id"]
    assert curl(tmp_path, *tags, url) == "200"
    assert event in (tmp_path / "document").read_text()
    assert curl(tmp_path, *tags, url) == "304"
