"""Both planes together: VMs see operators' actions, and operators see VMs'."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import RunningService, send_request

ISOLATED = {"kind": "scale-set", "isolated": True}


def raw(service: RunningService, data: bytes) -> bytes:
    """Send raw `data` to the metadata plane and read until it closes."""
    where = urlsplit(service.metadata)
    with socket.create_connection(
        (where.hostname, where.port), timeout=PATIENCE
    ) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


# --- documents ---------------------------------------------------------------


def test_announcement_is_visible_immediately(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    document = service.document("web-1")
    assert document["DocumentIncarnation"] == 1
    assert document["Events"][0]["EventId"] == maintenance["events"][0]["id"]


def test_announcement_is_visible_only_to_its_groups(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    assert service.document("db-0")["Events"] == []


def test_each_group_on_a_host_sees_its_own_event(service: RunningService) -> None:
    maintenance = service.announce(host="host-a")
    by_group = {event["group"]: event["id"] for event in maintenance["events"]}
    for vm, group in (("web-2", "web"), ("db-0", "db")):
        (event,) = service.document(vm)["Events"]
        assert event["EventId"] == by_group[group]


def test_host_maintenance_starts_when_all_groups_have_approved(
    service: RunningService,
) -> None:
    maintenance = service.announce(host="host-a")
    by_group = {event["group"]: event["id"] for event in maintenance["events"]}
    service.approve_as("web-0", by_group["web"])
    assert service.document("web-0")["Events"][0]["EventStatus"] == "Scheduled"
    service.approve_as("db-0", by_group["db"])
    for vm in ("web-0", "db-0"):
        assert service.document(vm)["Events"][0]["EventStatus"] == "Started"


def test_approval_alone_does_not_change_the_document(service: RunningService) -> None:
    maintenance = service.announce(host="host-a")
    before = service.as_vm("web-0")
    event = next(
        candidate for candidate in maintenance["events"] if candidate["group"] == "web"
    )
    service.approve_as("web-0", event["id"])
    after = service.as_vm("web-0")
    assert (after.body, after.headers["ETag"]) == (before.body, before.headers["ETag"])


def test_canceled_event_disappears(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    service.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel")
    assert service.document("web-0") == {"DocumentIncarnation": 2, "Events": []}


def test_events_are_in_announcement_order(service: RunningService) -> None:
    later = service.announce(vms=["web-1"], notice_seconds=9000)
    sooner = service.announce(vms=["web-0"])
    event_ids = [event["EventId"] for event in service.document("web-2")["Events"]]
    assert event_ids == [later["events"][0]["id"], sooner["events"][0]["id"]]


# --- approvals ---------------------------------------------------------------


def test_approval_gets_an_empty_response(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", maintenance["events"][0]["id"])
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == "0"


def test_event_id_is_accepted_in_lower_case(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", maintenance["events"][0]["id"].lower())
    assert answer.status == 200
    assert len(service.facts("Approved")) == 1


def test_several_events_are_approved_together(service: RunningService) -> None:
    body = {"type": "Reboot", "group": "web"}
    maintenances = service.request("POST", "/v1/maintenances", body).json[
        "maintenances"
    ]
    ids = [maintenance["events"][0]["id"] for maintenance in maintenances]
    assert service.approve_as("web-0", *ids).status == 200
    assert {fact["event"] for fact in service.facts("Approved")} == {*ids}
    assert len({fact["at"] for fact in service.facts("Approved")}) == 1


def test_two_events_of_one_maintenance_are_approved_together(
    service: RunningService,
) -> None:
    body = {"group": "web", "host": "host-a", "update_domain": 1}
    service.request("PUT", "/v1/vms/web-1", body)
    maintenance = service.announce(host="host-a")
    ids = [event["id"] for event in maintenance["events"] if event["group"] == "web"]
    assert len(ids) == 2
    assert service.approve_as("web-2", *ids).status == 200
    assert len(service.facts("Approved")) == 2


def test_one_unknown_id_refuses_the_whole_approval(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", maintenance["events"][0]["id"], "NOBODY")
    assert answer.status == 400
    assert "NOBODY" in answer.json["error"]
    assert service.facts("Approved") == []


def test_approving_an_event_of_another_group_gets_400(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    assert service.approve_as("db-0", maintenance["events"][0]["id"]).status == 400
    assert service.facts("Approved") == []


def test_approving_a_maintenance_id_gets_400(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    assert service.approve_as("web-0", maintenance["id"]).status == 400


def test_approving_an_id_that_is_not_unicode_gets_400(service: RunningService) -> None:
    body = b'{"StartRequests":[{"EventId":"\\ud800"}]}'
    assert service.as_vm("web-0", body).status == 400


def test_event_hidden_by_the_api_version_can_be_approved(
    service: RunningService,
) -> None:
    maintenance = service.announce(type="Terminate", vms=["web-0"])
    event = maintenance["events"][0]["id"]
    assert service.approve_as("web-0", event, version="2017-03-01").status == 200
    assert len(service.facts("Approved")) == 1


def test_isolated_vm_cannot_approve_events_of_other_vms(
    service: RunningService,
) -> None:
    service.request("PUT", "/v1/groups/empty", ISOLATED)
    for name in ("iso-0", "iso-1"):
        service.request("PUT", f"/v1/vms/{name}", {"group": "empty"})
    maintenance = service.announce(vms=["iso-0"])
    event = maintenance["events"][0]["id"]
    assert service.approve_as("iso-1", event).status == 400
    assert service.approve_as("iso-0", event).status == 200


# --- enabling ----------------------------------------------------------------


def test_first_request_enables_the_group(
    service: RunningService,
) -> None:
    assert service.document("lone")["DocumentIncarnation"] == 0
    (fact,) = service.facts("ListeningBegan")
    assert fact["group"] == "lone"


def test_group_enabled_later_sees_earlier_announcements(
    service: RunningService,
) -> None:
    service.announce(vms=["lone"])
    document = service.document("lone")
    assert document["DocumentIncarnation"] == 1
    assert len(document["Events"]) == 1


def test_approval_can_enable_the_group(service: RunningService) -> None:
    maintenance = service.announce(vms=["lone"])
    assert service.approve_as("lone", maintenance["events"][0]["id"]).status == 200
    assert len(service.facts("ListeningBegan", "Approved")) == 2


def test_incarnation_restarts_after_24_hours_without_requests(
    service: RunningService,
) -> None:
    maintenance = service.announce(vms=["lone"])
    service.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel")
    before = service.as_vm("lone").headers["ETag"]
    service.advance(24 * 3600)
    answer = service.as_vm("lone", If_None_Match=before)
    assert answer.status == 200
    assert answer.json["DocumentIncarnation"] == 0
    assert len(service.facts("ListeningBegan")) == 2


def test_group_that_keeps_polling_stays_enabled(service: RunningService) -> None:
    for _ in range(3):
        service.document("lone")
        service.advance(23 * 3600)
    service.document("lone")
    assert len(service.facts("ListeningBegan")) == 1


def test_always_enabled_group_continues_after_a_day_without_requests(
    service: RunningService,
) -> None:
    maintenance = service.announce(vms=["web-0"])
    service.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel")
    before = service.as_vm("web-0").headers["ETag"]
    service.advance(25 * 3600)
    assert service.announce(vms=["web-0"], source="User")["phase"] == "SCHEDULED"
    answer = service.as_vm("web-0", If_None_Match=before)
    assert answer.json["DocumentIncarnation"] == 3
    assert service.facts("ListeningBegan") == []


def test_one_vm_keeps_an_isolated_group_enabled_for_all(
    service: RunningService,
) -> None:
    service.request("PUT", "/v1/groups/empty", ISOLATED)
    for name in ("iso-0", "iso-1"):
        service.request("PUT", f"/v1/vms/{name}", {"group": "empty"})
    service.document("iso-0")
    service.advance(23 * 3600)
    service.document("iso-0")
    service.advance(2 * 3600)
    path = "/vm/iso-1/metadata/scheduledevents?api-version=2020-07-01"
    data = f"GET {path} HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n\r\n".encode()
    assert b" 200 OK" in raw(service, data).partition(b"\r\n")[0]


def test_recreated_group_is_enabled_again(service: RunningService) -> None:
    service.document("lone")
    service.request("DELETE", "/v1/vms/lone")
    service.request("PUT", "/v1/vms/lone", {})
    service.document("lone")
    assert len(service.facts("ListeningBegan")) == 2
    assert service.get("/v1/groups/lone")["last_request"] is not None


def test_concurrent_first_requests_enable_the_group_once(
    service: RunningService,
) -> None:
    names = [f"vm-{number}" for number in range(16)]
    for name in names:
        service.request("PUT", f"/v1/vms/{name}", {"group": "empty"})
    with ThreadPoolExecutor(16) as pool:
        answers = [*pool.map(service.as_vm, names)]
    assert {(answer.status, answer.headers["ETag"]) for answer in answers} == {
        (200, answers[0].headers["ETag"])
    }
    assert len(service.facts("ListeningBegan")) == 1


def test_user_restart_of_a_disabled_vm_starts_immediately(
    service: RunningService,
) -> None:
    maintenance = service.announce(vms=["lone"], source="User")
    assert maintenance["phase"] == "STARTED"
    assert service.document("lone")["Events"][0]["NotBefore"] == ""


# --- connections -------------------------------------------------------------


def test_pipelined_requests_get_responses_in_order(service: RunningService) -> None:
    maintenance = service.announce(vms=["lone"])
    body = json.dumps({"StartRequests": [{"EventId": maintenance["events"][0]["id"]}]})
    path = "/vm/lone/metadata/scheduledevents?api-version=2020-07-01"
    head = f"{path} HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n"
    get = f"GET {head}\r\n"
    post = f"POST {head}Content-Length: {len(body)}\r\n\r\n{body}"
    answer = raw(service, (get + post + get).encode()).decode()
    first, second, third = answer.split("HTTP/1.1 ")[1:]
    assert '"EventStatus":"Scheduled"' in first
    assert second.endswith("Content-Length: 0\r\n\r\n")
    assert '"EventStatus":"Started"' in third


def test_connection_close_is_honored(service: RunningService) -> None:
    where = urlsplit(service.metadata)
    head = b"GET /metadata/versions HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n"
    with socket.create_connection(
        (where.hostname, where.port), timeout=PATIENCE
    ) as line:
        line.sendall(head + b"Connection: close\r\n\r\n")
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize("index", ["0", "9" * 5000])
def test_every_request_gets_a_response(service: RunningService, index: str) -> None:
    path = f"/vm/lone/metadata/instance/network/interface/{index}/macAddress"
    url = f"{service.metadata}{path}?api-version=2021-02-01&format=text"
    assert send_request("GET", url, Metadata="true").status in (200, 404)


def test_vm_cannot_reach_the_control_plane(service: RunningService) -> None:
    answer = send_request("GET", f"{service.metadata}/v1/vms", Authorization="Bearer t")
    assert answer.status in (400, 404)


def test_control_plane_does_not_serve_metadata(service: RunningService) -> None:
    path = "/metadata/scheduledevents?api-version=2020-07-01"
    assert send_request("GET", service.control + path, Metadata="true").status == 404
