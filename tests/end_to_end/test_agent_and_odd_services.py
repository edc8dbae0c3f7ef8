"""The real agent against services that misbehave."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tests.end_to_end.agents import Agent, an_agent
from tests.end_to_end.program import until

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
    "More": [1],
}
STRANGE = {"EventId": "X", "EventStatus": "Scheduled", "EventType": "Evaporate"}
NOTHING = b'{"DocumentIncarnation":0,"Events":[]}'
SOMETHING = json.dumps({"Events": [STRANGE, EVENT]}).encode()
HTML = b"<html><body>It works!</body></html>"
NO_LISTS = (
    b"{}",
    b'{"error":"backend timeout"}',
    b'{"DocumentIncarnation":null,"Events":null}',
    b'{"Events":0}',
)

PLAN = """
[hooks.drain]
command = "echo $FOREWARN_STEP >> drain"
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


@pytest.fixture
def fake_service() -> Iterator[FakeService]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            service.request_count += 1
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
            server.shutdown()
            thread.join()


@pytest.fixture
def agent(fake_service: FakeService, tmp_path: Path) -> Iterator[Agent]:
    with an_agent(tmp_path / "vm", fake_service.endpoint, PLAN, top=TOP) as agent:
        until(lambda: fake_service.request_count > 1)
        yield agent


def wait_for_requests(fake_service: FakeService, times: int) -> None:
    before = fake_service.request_count
    until(lambda: fake_service.request_count >= before + times)


def test_the_agent_survives_a_service_that_misbehaves(
    fake_service: FakeService, agent: Agent
) -> None:
    fake_service.body = HTML
    agent.wait_for("blind")
    fake_service.body = NOTHING
    assert agent.wait_for("sees-again")["seconds"] >= 1
    agent.wait_for_log("can read documents again")
    assert agent.log.count(" cannot read the document:") == 1
    assert agent.log.count("can read documents again") == 1

    fake_service.post_status = 503
    fake_service.body = SOMETHING
    until(lambda: len(fake_service.posted) >= 3)
    assert len(agent.lines("approval-failed")) == 1
    fake_service.post_status = 200
    agent.wait_for("approved")
    assert fake_service.posted[-1] == {"StartRequests": [{"EventId": EVENT["EventId"]}]}
    assert (agent.folder / "drain").read_text() == "prepare\n"
    seen = {line["event"]: line for line in agent.lines("seen")}
    assert seen["X"]["mine"] is False
    assert seen[EVENT["EventId"]]["event_as_shown"]["More"] == [1]

    for fake_service.status in (500, 404):
        wait_for_requests(fake_service, 1)
    fake_service.status = 200
    for fake_service.body in (*NO_LISTS, SOMETHING):
        wait_for_requests(fake_service, 2)
    assert agent.lines("gone", "came-back") == []
    assert not (agent.folder / "undo").exists()

    before, fake_service.body = fake_service.request_count, b""
    gone = agent.wait_for("gone", times=2)
    assert fake_service.request_count - before >= 3
    assert gone["canceled"] is True
    agent.wait_for("over", times=2)
    assert (agent.folder / "undo").read_text() == "undo\n"
    assert agent.process.poll() is None
