"""Approval requests over real sockets; tests/programs covers real clients."""

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from tests.end_to_end.program import Program, serving
from tests.patience import PATIENCE

PATH = "/vm/web-0/metadata/scheduledevents?api-version=2020-07-01"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    with serving(tmp_path_factory.mktemp("posts"), "--clock", "manual") as running:
        yield running


def raw(program: Program, data: bytes) -> bytes:
    """Send `data`, close the sending side, and return the whole response."""
    where = urlsplit(program.metadata[0])
    with socket.create_connection(
        (where.hostname, where.port), timeout=PATIENCE
    ) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


def a_post(body: bytes) -> bytes:
    head = f"POST {PATH} HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


@pytest.mark.parametrize(
    "body", [b"", b"nonsense", b"[]", b"{}", b'{"StartRequests":[]}', b"\xff"]
)
def test_a_malformed_body_is_refused(program: Program, body: bytes) -> None:
    answer = program.service.as_vm("web-0", body)
    assert answer.status == 400
    assert answer.json["error"]


def test_an_unknown_id_is_refused_and_nothing_is_approved(program: Program) -> None:
    maintenance = program.service.announce(vms=["web-0"])
    event = maintenance["events"][0]["id"]
    answer = program.service.approve_as("web-0", event, "unknown")
    assert answer.status == 400
    assert "UNKNOWN" in answer.json["error"].upper()
    assert program.service.get(f"/v1/events/{event}")["approved_by"] is None


def test_ten_thousand_approvals_are_too_many(program: Program) -> None:
    requests = [{"EventId": f"{number:036}"} for number in range(10_000)]
    body = json.dumps({"StartRequests": requests}).encode()
    answer = raw(program, a_post(body)[:200_000])
    assert answer.startswith(b"HTTP/1.1 413 ")


def test_the_response_to_a_large_body_can_be_read(program: Program) -> None:
    answer = raw(program, a_post(b"x" * 70_000))
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 413 ")
    assert b"Connection: close" in head
    assert "error" in json.loads(body)


def test_a_large_body_is_refused_before_any_other_error(program: Program) -> None:
    request = a_post(b"x" * 70_000).replace(b"Metadata: true", b"X-Forwarded-For: 1")
    assert raw(program, request).startswith(b"HTTP/1.1 413 ")


def test_a_large_head_is_refused(program: Program) -> None:
    head = f"GET {PATH} HTTP/1.1\r\nHost: vm\r\nA: {'x' * 70_000}\r\n\r\n"
    assert raw(program, head.encode()).startswith(b"HTTP/1.1 431 ")


def test_two_vms_may_approve_the_same_event_at_once(program: Program) -> None:
    service = program.service
    maintenance = service.announce(vms=["db-0"])
    event = maintenance["events"][0]["id"]
    other = service.announce(vms=["web-1"])["events"][0]["id"]
    with ThreadPoolExecutor() as pool:
        answers = pool.map(lambda vm: service.approve_as(vm, other), ["web-1", "web-2"])
    assert [each.status for each in answers] == [200, 200]
    approved = [each["event"] for each in service.facts("Approved")]
    assert approved.count(other) == 1
    assert event not in approved
