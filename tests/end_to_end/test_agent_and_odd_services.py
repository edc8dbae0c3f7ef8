"""The real agent against services that misbehave."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from tests.end_to_end.agents import Agent, an_agent
from tests.end_to_end.program import until
from tests.patience import PATIENCE

EVENT = {
    "EventId": "11111111-2222-3333-4444-555555555555",
    "EventStatus": "Scheduled",
    "EventType": "Reboot",
    "ResourceType": "VirtualMachine",
    "Resources": ["vm"],
    "NotBefore": "Mon, 19 Sep 2101 18:29:47 GMT",
    "Description": "",
    "EventSource": "Platform",
    "DurationInSeconds": -1,
}
NOTHING = b'{"DocumentIncarnation":0,"Events":[]}'
SOMETHING = json.dumps({"DocumentIncarnation": 1, "Events": [EVENT]}).encode()
HTML = b"<html><body>It works!</body></html>"

PLAN = """
[hooks.drain]
command = "echo $FOREWARN_STEP >> drain; exit $(cat code 2>/dev/null || echo 0)"
[hooks.undo]
command = "echo $FOREWARN_STEP >> undo"
[[rules]]
name = "all"
prepare = ["drain"]
undo = ["undo"]
"""
TOP = {"name": "vm", "poll_seconds": 0.05, "blind_after_seconds": 3}


class FakeService:
    """A service with responses that a test chooses."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.endpoint = f"http://127.0.0.1:{server.server_address[1]}"
        self.body = NOTHING
        self.status = 200
        self.post_status = 200
        self.posted: list[Any] = []
        self.request_count = 0
        self.is_silent = False
        self.closing = Event()


@pytest.fixture
def fake_service() -> Iterator[FakeService]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            service.request_count += 1
            if service.is_silent:
                service.closing.wait(PATIENCE)
            if self.path.startswith("/metadata/instance"):
                self.answer(404, b'{ "error": "Not found" }')
            else:
                self.answer(service.status, service.body)

        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["Content-Length"]))
            service.posted.append(json.loads(content))
            self.answer(service.post_status, b"")

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        service = FakeService(server)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield service
        finally:
            service.closing.set()
            server.shutdown()
            thread.join()


@pytest.fixture
def agent(fake_service: FakeService, tmp_path: Path) -> Iterator[Agent]:
    with an_agent(tmp_path / "vm", fake_service.endpoint, PLAN, top=TOP) as agent:
        until(lambda: fake_service.request_count > 1)
        yield agent


def wait_for_requests(fake_service: FakeService, times: int = 5) -> None:
    before = fake_service.request_count
    until(lambda: fake_service.request_count >= before + times)


@pytest.mark.full
def test_html_instead_of_a_document_is_logged_once(
    fake_service: FakeService, agent: Agent
) -> None:
    fake_service.body = HTML
    agent.wait_for("blind")
    wait_for_requests(fake_service, 2)
    fake_service.body = NOTHING
    seen = agent.wait_for("sees-again")
    assert seen["seconds"] >= 1
    agent.wait_for_log("documents can be read again")
    lines = [line for line in agent.log.splitlines() if " no document" in line]
    assert len([line for line in lines if "no document:" in line]) == 1, agent.log
    assert agent.log.count("documents can be read again") == 1
    assert agent.process.poll() is None


def test_only_repeated_empty_responses_end_an_event(
    fake_service: FakeService, agent: Agent
) -> None:
    fake_service.body = SOMETHING
    agent.wait_for("approved")
    before, fake_service.body = fake_service.request_count, b""
    gone = agent.wait_for("gone")
    assert fake_service.request_count - before >= 3
    assert gone["canceled"] is True
    agent.wait_for("over")
    assert (agent.folder / "undo").read_text() == "undo\n"


@pytest.mark.full
def test_an_unresponsive_service_makes_the_agent_blind(
    fake_service: FakeService, agent: Agent
) -> None:
    fake_service.is_silent = True
    agent.wait_for("blind")
    assert "no document could be read for" in agent.log
    assert agent.process.poll() is None


@pytest.mark.full
def test_an_unavailable_service_does_not_end_an_event(
    fake_service: FakeService, agent: Agent
) -> None:
    fake_service.body = SOMETHING
    agent.wait_for("approved")
    for fake_service.status in (500, 404):
        wait_for_requests(fake_service, 1)
    fake_service.status = 200
    wait_for_requests(fake_service, 2)
    assert agent.lines("gone", "came-back") == []
    assert agent.lines("hook-began")[-1]["step"] == "prepare"


@pytest.mark.full
def test_a_failed_approval_is_recorded_once_per_reason_and_retried(
    fake_service: FakeService, agent: Agent
) -> None:
    fake_service.post_status = 503
    fake_service.body = SOMETHING
    until(lambda: len(fake_service.posted) >= 3)
    fake_service.post_status = 500
    agent.wait_for("approval-failed", times=2)
    fake_service.post_status = 200
    agent.wait_for("approved")
    assert len(agent.lines("approval-failed")) == 2  # once for each reason
    assert fake_service.posted[-1] == {"StartRequests": [{"EventId": EVENT["EventId"]}]}
    assert (agent.folder / "drain").read_text() == "prepare\n"


@pytest.mark.full
def test_an_unprepared_event_is_never_approved(
    fake_service: FakeService, agent: Agent
) -> None:
    (agent.folder / "code").write_text("1")
    fake_service.body = SOMETHING
    agent.wait_for("not-approved")
    for fake_service.body in (HTML, b"", b'{"Events":null}', b"[]", SOMETHING):
        wait_for_requests(fake_service, 1)
    assert fake_service.posted == []


@pytest.mark.full
def test_missing_fields_and_unknown_types_are_tolerated(
    fake_service: FakeService, agent: Agent
) -> None:
    strange = {"EventId": "X", "EventStatus": "Scheduled", "EventType": "Evaporate"}
    fake_service.body = json.dumps(
        {"Events": [strange, {**EVENT, "More": [1]}]}
    ).encode()
    agent.wait_for("approved")
    seen = {line["event"]: line for line in agent.lines("seen")}
    assert seen["X"]["mine"] is False
    assert seen[EVENT["EventId"]]["event_as_shown"]["More"] == [1]


def test_a_truncated_event_state_is_restored_from_its_older_copy(
    fake_service: FakeService, tmp_path: Path
) -> None:
    folder = tmp_path / "vm"
    (tmp_path / "vm").mkdir()
    (folder / "code").write_text("1")
    fake_service.body = SOMETHING
    with an_agent(folder, fake_service.endpoint, PLAN, top=TOP) as agent:
        agent.wait_for("not-approved")
        assert agent.stop() == 0
    path = folder / "state" / "events" / f"{EVENT['EventId']}.json"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with an_agent(folder, fake_service.endpoint, PLAN, top=TOP) as agent:
        agent.wait_for("began", times=2)
        agent.wait_for_log("older copy")
        wait_for_requests(fake_service)
    assert len(agent.lines("seen")) == 1


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[rules]\n", "line 3"),
        ('[[rules]]\naprove = "never"\n', 'did you mean "approve"?'),
        (
            '[hooks.drain]\ncommand = ["/no/such"]\n[[rules]]\nprepare = ["drain"]\n',
            "/no/such",
        ),
    ],
)
def test_an_invalid_configuration_is_refused_at_start(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with an_agent(tmp_path, "http://127.0.0.1:1", text) as agent:
        assert agent.process.wait(PATIENCE) == 1
        assert complaint in agent.log
        assert "Traceback" not in agent.log
