"""Fault injection over the control API: set, list, clear, report."""

import http.client
import logging
from urllib.parse import urlsplit

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import ReceivedResponse, RunningService, send_request

FAULTS = "/v1/faults"


def set_fault(service: RunningService, **body: object) -> ReceivedResponse:
    return service.request("POST", FAULTS, body)


def create_fault(service: RunningService, **body: object) -> str:
    answer = set_fault(service, **body)
    assert answer.status == 201, answer.body
    return str(answer.json["id"])


def test_fault_is_returned_with_all_fields(service: RunningService) -> None:
    answer = set_fault(
        service,
        kind="429",
        on="read",
        vms=["WEB-0"],
        count=3,
        probability=0.5,
        duration_seconds=60,
        retry_after_seconds=7,
    )
    fault = answer.json
    assert answer.status == 201
    assert 0 < fault.pop("left_seconds") <= 60
    assert fault == {
        "id": "f1",
        "kind": "429",
        "on": "read",
        "vms": ["web-0"],
        "count": 3,
        "left": 3,
        "probability": 0.5,
        "duration_seconds": 60,
        "delay_seconds": None,
        "retry_after_seconds": 7,
        "text": "429 Too Many Requests (probability 50%)",
        "set_by": "admin",
        "set_at": service.get("/v1/clock")["now"],
    }
    (listed,) = service.get(FAULTS)["items"]
    assert listed["id"] == "f1"


def test_fault_applies_until_it_is_cleared(service: RunningService) -> None:
    id_ = create_fault(service, kind="503")
    assert service.as_vm("web-0").status == 503
    assert service.request("DELETE", f"{FAULTS}/{id_}").status == 204
    assert service.as_vm("web-0").status == 200
    assert service.get(FAULTS)["items"] == []


def test_all_faults_can_be_cleared_together(service: RunningService) -> None:
    create_fault(service, kind="503")
    create_fault(service, kind="slow", delay_seconds=60)
    assert service.request("DELETE", FAULTS).status == 204
    assert service.as_vm("web-0").status == 200


def test_active_faults_are_reported_in_readyz_and_headers(
    service: RunningService,
) -> None:
    create_fault(service, kind="503", on="approve")
    create_fault(service, kind="stale")
    ready = send_request("GET", f"{service.control}/readyz")
    assert ready.status == 200
    assert ready.json["status"] == "ready"
    assert ready.json["faults"] == ["503", "stale"]
    assert service.as_vm("web-0").headers["Forewarn-Faults"] == "503, stale"


def test_faulted_requests_are_counted_in_metrics(service: RunningService) -> None:
    create_fault(service, kind="500", count=2)
    for _ in range(3):
        service.as_vm("web-0")
    text = service.request("GET", "/metrics").body.decode()
    assert 'forewarn_faults_total{kind="500"} 2.0' in text
    assert 'forewarn_faults_total{kind="503"} 0.0' in text


def test_log_records_who_set_and_cleared_faults(
    service: RunningService, caplog: pytest.LogCaptureFixture
) -> None:
    id_ = create_fault(service, kind="503")
    service.request("DELETE", f"{FAULTS}/{id_}")
    service.request("DELETE", FAULTS)
    records = [
        record for record in caplog.records if record.name.endswith("routes.rehearsal")
    ]
    assert [record.levelno for record in records] == [logging.WARNING] * 3
    first, second, third = (record.getMessage() for record in records)
    assert first.startswith("admin injected fault f1 (503")
    assert second == "admin cleared fault f1"
    assert third == "admin cleared all faults"


def test_faults_are_not_in_the_journal(service: RunningService) -> None:
    before = service.facts()
    create_fault(service, kind="503")
    assert service.facts() == before


# --- refusals ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ({}, "kind"),
        ({"kind": "404"}, "kind: expected one of"),
        ({"kind": 503}, "kind"),
        ({"kind": "503", "delay_seconds": 1}, "only slow and slow-first-call do"),
        ({"kind": "503", "times": 3}, "times"),
        ({"kind": "503", "for_seconds": 3}, 'it is now called "duration_seconds"'),
        ({"kind": "503", "lasts": 3}, 'it is now called "duration_seconds"'),
    ],
)
def test_invalid_fault_gets_422(
    shared: RunningService, body: object, sentence: str
) -> None:
    answer = shared.request("POST", FAULTS, body)
    assert answer.status == 422
    assert sentence in answer.detail
    assert shared.get(FAULTS)["items"] == []


def test_name_that_cannot_be_encoded_is_quoted_in_the_refusal(
    shared: RunningService,
) -> None:
    answer = set_fault(shared, kind="503", vms=["a\udcff"])
    assert (answer.status, "a\\udcff" in answer.detail) == (404, True)


# --- refused connections -----------------------------------------------------


def test_connections_are_accepted_again_on_the_same_port(
    service: RunningService,
) -> None:
    where = urlsplit(service.metadata)
    connection = http.client.HTTPConnection(where.hostname or "", where.port, PATIENCE)
    connection.connect()
    for _ in range(3):
        create_fault(service, kind="refused")
        with pytest.raises(OSError, match="Connection refused"):
            service.as_vm("web-0")
        assert service.get(FAULTS)["items"][0]["kind"] == "refused"
        assert service.request("DELETE", FAULTS).status == 204
        assert service.as_vm("web-0").status == 200
    with pytest.raises(OSError, match="reset"):
        connection.sock.recv(1)
    connection.close()


def test_service_that_refuses_connections_can_be_stopped(
    service: RunningService,
) -> None:
    create_fault(service, kind="refused")
    assert send_request("GET", f"{service.control}/readyz").json["faults"] == [
        "refused"
    ]
