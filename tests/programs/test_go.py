"""Go's HTTP client, which most agents for Kubernetes use, tested with `hey`."""

import re
from pathlib import Path

import pytest
from tests.end_to_end.program import Program
from tests.programs.installed import package_file, run_program
from tests.programs.record import approval, start_requests, url_of

pytestmark = pytest.mark.full

MARK = ("-H", "Metadata: true")


def hey(folder: Path, *words: str) -> str:
    done = run_program(folder, str(package_file("hey", "usr/bin/hey")), *MARK, *words)
    assert done.code == 0, done.err
    assert "Error distribution" not in done.out, done.out
    return done.out


@pytest.mark.parametrize("option", ["-disable-compression", "-disable-keepalive"])
def test_every_request_gets_a_response(
    program: Program, tmp_path: Path, option: str
) -> None:
    output = hey(tmp_path, "-n", "400", "-c", "20", option, url_of(program, "web-0"))
    assert re.search(r"\[200\]\s+400 responses", output)


@pytest.mark.parametrize("content_type", ["text/html", "application/json", ""])
def test_many_parallel_approvals_succeed(
    program: Program, tmp_path: Path, content_type: str
) -> None:
    maintenance = program.service.announce(type="Freeze", vms=["db-0"])
    event = maintenance["events"][0]["id"]
    post = ("-m", "POST", "-T", content_type, "-d", start_requests(event))
    output = hey(tmp_path, "-n", "40", "-c", "2", *post, url_of(program, "db-0"))
    assert re.search(r"\[200\]\s+40 responses", output)
    assert approval(program.service.facts(), event) == ("db-0", "metadata")


def test_more_than_two_approvals_at_once_are_refused(
    program: Program, tmp_path: Path
) -> None:
    event = program.service.announce(type="Freeze", vms=["db-0"])["events"][0]["id"]
    post = ("-m", "POST", "-d", start_requests(event))
    output = hey(tmp_path, "-n", "40", "-c", "10", *post, url_of(program, "db-0"))
    counts = dict(re.findall(r"\[(\d+)\]\s+(\d+) responses", output))
    assert {*counts} <= {"200", "429"}
    assert int(counts["200"]) >= 2
    assert approval(program.service.facts(), event) == ("db-0", "metadata")
