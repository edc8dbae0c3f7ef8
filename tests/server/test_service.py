"""Both planes together: VMs see operators' actions, and operators see VMs'."""

from concurrent.futures import ThreadPoolExecutor

from tests.server.support.service import RunningService, send_request


def test_announcement_is_visible_immediately(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    document = service.document("web-1")
    assert document["DocumentIncarnation"] == 1
    assert document["Events"][0]["EventId"] == maintenance["events"][0]["id"]


def test_one_unknown_id_refuses_the_whole_approval(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    answer = service.approve_as("web-0", maintenance["events"][0]["id"], "NOBODY")
    assert answer.status == 400
    assert "NOBODY" in answer.json["error"]
    assert service.facts("Approved") == []


def test_approving_an_id_that_is_not_unicode_gets_400(service: RunningService) -> None:
    body = b'{"StartRequests":[{"EventId":"\\ud800"}]}'
    assert service.as_vm("web-0", body).status == 400


def test_recreated_group_is_enabled_again(service: RunningService) -> None:
    service.document("lone")
    service.request("DELETE", "/v1/vms/lone")
    service.request("PUT", "/v1/vms/lone", {})
    service.document("lone")
    assert len(service.facts("Enabled")) == 2
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
    assert len(service.facts("Enabled")) == 1


def test_vm_cannot_reach_the_control_plane(service: RunningService) -> None:
    answer = send_request("GET", f"{service.metadata}/v1/vms", Authorization="Bearer t")
    assert answer.status in (400, 404)


def test_control_plane_does_not_serve_metadata(service: RunningService) -> None:
    path = "/metadata/scheduledevents?api-version=2020-07-01"
    assert send_request("GET", service.control + path, Metadata="true").status == 404
