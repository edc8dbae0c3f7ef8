"""Both planes together: what an operator does, VMs see; what VMs do, he sees."""

import json
import socket
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import RunningService, ask

ISOLATED = {"kind": "scale-set", "isolated": True}


def raw(service: RunningService, data: bytes) -> bytes:
    """Send `data` to the metadata plane as it is, and read to the end."""
    where = urlsplit(service.metadata)
    with socket.create_connection(
        (where.hostname, where.port), timeout=PATIENCE
    ) as line:
        line.sendall(data)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


# --- documents ---------------------------------------------------------------


def test_what_is_announced_is_seen_at_once(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    document = service.document("web-1")
    assert document["DocumentIncarnation"] == 1
    assert document["Events"][0]["EventId"] == made["events"][0]["id"]


def test_what_is_announced_is_seen_by_its_groups_only(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    assert service.document("db-0")["Events"] == []


def test_each_group_of_a_host_sees_its_own_event(service: RunningService) -> None:
    made = service.announce(host="host-a")
    by_group = {event["group"]: event["id"] for event in made["events"]}
    for vm, group in (("web-2", "web"), ("db-0", "db")):
        (event,) = service.document(vm)["Events"]
        assert event["EventId"] == by_group[group]


def test_a_host_starts_when_all_its_groups_have_approved(
    service: RunningService,
) -> None:
    made = service.announce(host="host-a")
    by_group = {event["group"]: event["id"] for event in made["events"]}
    service.approve_as("web-0", by_group["web"])
    assert service.document("web-0")["Events"][0]["EventStatus"] == "Scheduled"
    service.approve_as("db-0", by_group["db"])
    for vm in ("web-0", "db-0"):
        assert service.document(vm)["Events"][0]["EventStatus"] == "Started"


def test_an_approval_alone_is_no_change(service: RunningService) -> None:
    made = service.announce(host="host-a")
    before = service.as_vm("web-0")
    event = next(each for each in made["events"] if each["group"] == "web")
    service.approve_as("web-0", event["id"])
    after = service.as_vm("web-0")
    assert (after.body, after.headers["ETag"]) == (before.body, before.headers["ETag"])


def test_what_is_canceled_is_gone(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    service.ask("POST", f"/v1/maintenances/{made['id']}/cancel")
    assert service.document("web-0") == {"DocumentIncarnation": 2, "Events": []}


def test_events_are_in_the_order_of_announcement(service: RunningService) -> None:
    later = service.announce(vms=["web-1"], notice_seconds=9000)
    sooner = service.announce(vms=["web-0"])
    shown = [each["EventId"] for each in service.document("web-2")["Events"]]
    assert shown == [later["events"][0]["id"], sooner["events"][0]["id"]]


# --- approvals ---------------------------------------------------------------


def test_an_approval_is_answered_with_nothing(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", made["events"][0]["id"])
    assert (answer.status, answer.body) == (200, b"")
    assert answer.headers["Content-Length"] == "0"


def test_an_id_is_taken_in_lower_case(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", made["events"][0]["id"].lower())
    assert answer.status == 200
    assert len(service.facts("Approved")) == 1


def test_several_events_are_approved_together(service: RunningService) -> None:
    body = {"type": "Reboot", "group": "web"}
    made = service.ask("POST", "/v1/maintenances", body).json["maintenances"]
    ids = [each["events"][0]["id"] for each in made]
    assert service.approve_as("web-0", *ids).status == 200
    assert {fact["event"] for fact in service.facts("Approved")} == {*ids}
    assert len({fact["at"] for fact in service.facts("Approved")}) == 1


def test_two_events_of_one_maintenance_are_approved_together(
    service: RunningService,
) -> None:
    body = {"group": "web", "host": "host-a", "update_domain": 1}
    service.ask("PUT", "/v1/vms/web-1", body)
    made = service.announce(host="host-a")
    ids = [each["id"] for each in made["events"] if each["group"] == "web"]
    assert len(ids) == 2
    assert service.approve_as("web-2", *ids).status == 200
    assert len(service.facts("Approved")) == 2


def test_one_unknown_id_spoils_them_all(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", made["events"][0]["id"], "NOBODY")
    assert answer.status == 400
    assert "NOBODY" in answer.json["error"]
    assert service.facts("Approved") == []


def test_an_event_of_another_group_is_unknown(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    assert service.approve_as("db-0", made["events"][0]["id"]).status == 400
    assert service.facts("Approved") == []


def test_the_id_of_a_maintenance_is_no_event(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    assert service.approve_as("web-0", made["id"]).status == 400


def test_an_id_that_is_no_unicode_is_unknown(service: RunningService) -> None:
    body = b'{"StartRequests":[{"EventId":"\\ud800"}]}'
    assert service.as_vm("web-0", body).status == 400


def test_the_version_of_an_approval_may_hide_the_event(service: RunningService) -> None:
    made = service.announce(type="Terminate", vms=["web-0"])
    event = made["events"][0]["id"]
    assert service.approve_as("web-0", event, version="2017-03-01").status == 200
    assert len(service.facts("Approved")) == 1


def test_a_vm_alone_may_not_approve_what_it_does_not_see(
    service: RunningService,
) -> None:
    service.ask("PUT", "/v1/groups/empty", ISOLATED)
    for name in ("iso-0", "iso-1"):
        service.ask("PUT", f"/v1/vms/{name}", {"group": "empty"})
    made = service.announce(vms=["iso-0"])
    event = made["events"][0]["id"]
    assert service.approve_as("iso-1", event).status == 400
    assert service.approve_as("iso-0", event).status == 200


# --- listening ---------------------------------------------------------------


def test_the_first_request_of_a_group_begins_its_listening(
    service: RunningService,
) -> None:
    assert service.document("lone")["DocumentIncarnation"] == 0
    (fact,) = service.facts("ListeningBegan")
    assert fact["group"] == "lone"


def test_a_group_that_begins_late_sees_what_is_announced(
    service: RunningService,
) -> None:
    service.announce(vms=["lone"])
    document = service.document("lone")
    assert document["DocumentIncarnation"] == 1
    assert len(document["Events"]) == 1


def test_a_group_may_begin_with_an_approval(service: RunningService) -> None:
    made = service.announce(vms=["lone"])
    assert service.approve_as("lone", made["events"][0]["id"]).status == 200
    assert len(service.facts("ListeningBegan", "Approved")) == 2


def test_after_24_hours_of_silence_the_counter_starts_anew(
    service: RunningService,
) -> None:
    made = service.announce(vms=["lone"])
    service.ask("POST", f"/v1/maintenances/{made['id']}/cancel")
    before = service.as_vm("lone").headers["ETag"]
    service.advance(24 * 3600)
    answer = service.as_vm("lone", If_None_Match=before)
    assert answer.status == 200
    assert answer.json["DocumentIncarnation"] == 0
    assert len(service.facts("ListeningBegan")) == 2


def test_a_group_that_keeps_asking_is_never_silent(service: RunningService) -> None:
    for _ in range(3):
        service.document("lone")
        service.advance(23 * 3600)
    service.document("lone")
    assert len(service.facts("ListeningBegan")) == 1


def test_a_group_that_always_listens_goes_on_after_a_silence(
    service: RunningService,
) -> None:
    made = service.announce(vms=["web-0"])
    service.ask("POST", f"/v1/maintenances/{made['id']}/cancel")
    before = service.as_vm("web-0").headers["ETag"]
    service.advance(25 * 3600)
    assert service.announce(vms=["web-0"], source="User")["phase"] == "SCHEDULED"
    answer = service.as_vm("web-0", If_None_Match=before)
    assert answer.json["DocumentIncarnation"] == 3
    assert service.facts("ListeningBegan") == []


def test_one_vm_keeps_an_isolated_group_listening_for_all(
    service: RunningService,
) -> None:
    service.ask("PUT", "/v1/groups/empty", ISOLATED)
    for name in ("iso-0", "iso-1"):
        service.ask("PUT", f"/v1/vms/{name}", {"group": "empty"})
    service.document("iso-0")
    service.advance(23 * 3600)
    service.document("iso-0")
    service.advance(2 * 3600)
    path = "/vm/iso-1/metadata/scheduledevents?api-version=2020-07-01"
    data = f"GET {path} HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n\r\n".encode()
    assert b" 200 OK" in raw(service, data).partition(b"\r\n")[0]


def test_a_group_that_came_back_begins_anew(service: RunningService) -> None:
    service.document("lone")
    service.ask("DELETE", "/v1/vms/lone")
    service.ask("PUT", "/v1/vms/lone", {})
    service.document("lone")
    assert len(service.facts("ListeningBegan")) == 2
    assert service.get("/v1/groups/lone")["last_request"] is not None


def test_many_who_ask_first_at_once_begin_one_listening(
    service: RunningService,
) -> None:
    names = [f"vm-{number}" for number in range(16)]
    for name in names:
        service.ask("PUT", f"/v1/vms/{name}", {"group": "empty"})
    with ThreadPoolExecutor(16) as pool:
        answers = [*pool.map(service.as_vm, names)]
    assert {(each.status, each.headers["ETag"]) for each in answers} == {
        (200, answers[0].headers["ETag"])
    }
    assert len(service.facts("ListeningBegan")) == 1


def test_a_user_who_restarts_a_silent_vm_need_not_wait(service: RunningService) -> None:
    made = service.announce(vms=["lone"], source="User")
    assert made["phase"] == "STARTED"
    assert service.document("lone")["Events"][0]["NotBefore"] == ""


# --- the wire ----------------------------------------------------------------


def test_pipelined_requests_are_answered_in_order(service: RunningService) -> None:
    made = service.announce(vms=["lone"])
    body = json.dumps({"StartRequests": [{"EventId": made["events"][0]["id"]}]})
    path = "/vm/lone/metadata/scheduledevents?api-version=2020-07-01"
    head = f"{path} HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n"
    get = f"GET {head}\r\n"
    post = f"POST {head}Content-Length: {len(body)}\r\n\r\n{body}"
    answer = raw(service, (get + post + get).encode()).decode()
    first, second, third = answer.split("HTTP/1.1 ")[1:]
    assert '"EventStatus":"Scheduled"' in first
    assert second.endswith("Content-Length: 0\r\n\r\n")
    assert '"EventStatus":"Started"' in third


def test_a_connection_ends_when_the_client_asks_for_it(service: RunningService) -> None:
    where = urlsplit(service.metadata)
    head = b"GET /metadata/versions HTTP/1.1\r\nHost: vm\r\nMetadata: true\r\n"
    with socket.create_connection(
        (where.hostname, where.port), timeout=PATIENCE
    ) as line:
        line.sendall(head + b"Connection: close\r\n\r\n")
        answer = b"".join(iter(lambda: line.recv(65536), b""))
    assert b"\r\nConnection: close\r\n" in answer


@pytest.mark.parametrize("index", ["0", "9" * 5000])
def test_every_request_gets_an_answer(service: RunningService, index: str) -> None:
    path = f"/vm/lone/metadata/instance/network/interface/{index}/macAddress"
    url = f"{service.metadata}{path}?api-version=2021-02-01&format=text"
    assert ask("GET", url, Metadata="true").status in (200, 404)


def test_a_vm_cannot_reach_the_control_plane(service: RunningService) -> None:
    answer = ask("GET", f"{service.metadata}/v1/vms", Authorization="Bearer t")
    assert answer.status in (400, 404)


def test_the_control_plane_is_no_metadata_plane(service: RunningService) -> None:
    path = "/metadata/scheduledevents?api-version=2020-07-01"
    assert ask("GET", service.control + path, Metadata="true").status == 404
