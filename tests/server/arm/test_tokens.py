"""Permissions of admin, viewer and group tokens below /subscriptions."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.server.conftest import Serve
from tests.server.control.test_tokens import client_with_token
from tests.server.support.arm_client import (
    COMPUTE,
    SETS,
    SUBSCRIPTION,
    VERSION,
    VMS,
    a_fleet,
    arm,
    error_of,
    event_of,
    read_resource,
)
from tests.server.support.service import RunningService, a_service

from forewarn.engine.write_queue import WriteQueue, WriteRank

EVENTS = "providers/Microsoft.Maintenance/scheduledevents"
LOCATION = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/l"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClients:
    """A service with clients for an admin, a viewer and the team of group web."""

    admin: RunningService
    viewer: RunningService
    web: RunningService


@pytest.fixture(scope="module")
def clients(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenClients]:
    folder = tmp_path_factory.mktemp("scene")
    with a_service(folder, fleet=a_fleet(folder)) as service:
        yield TokenClients(
            admin=service,
            viewer=client_with_token(service, "somebody", "viewer"),
            web=client_with_token(service, "web-team", "group", group="web"),
        )


def count(clients: TokenClients) -> int:
    """Return the number of announcements so far."""
    return len(clients.admin.facts("Announced"))


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{VMS}/web-0/restart"),
        ("DELETE", f"{VMS}/web-0"),
        ("POST", f"{SETS}/pool/restart"),
        ("POST", f"/{VMS}/web-0/restart"),
        ("POST", f"{VMS}/web-0/restart".upper()),
        ("POST", f"{VMS}/web-0/{EVENTS}/any/acknowledge"),
        ("POST", f"{VMS}/web-0/{EVENTS}"),
        ("PUT", f"{VMS}/web-0"),
    ],
)
def test_viewer_may_not_change_anything(
    clients: TokenClients, method: str, path: str
) -> None:
    before = count(clients)
    answer = arm(clients.viewer, method, path)
    assert error_of(answer) == (403, "AuthorizationFailed")
    assert count(clients) == before


def test_viewer_sees_everything(clients: TokenClients) -> None:
    assert read_resource(clients.viewer, VMS) == read_resource(clients.admin, VMS)
    assert (
        read_resource(clients.viewer, f"{VMS}/web-0/instanceView")["assignedHost"]
        == "host-a"
    )


# --- group tokens ------------------------------------------------------------


def test_group_sees_its_own_vms_and_set(clients: TokenClients) -> None:
    assert read_resource(clients.web, f"{VMS}/web-0")["name"] == "web-0"
    assert read_resource(clients.web, f"/{VMS}/web-0")["name"] == "web-0"
    assert [vm["name"] for vm in read_resource(clients.web, VMS)["value"]] == [
        "web-0",
        "web-1",
    ]
    assert (
        read_resource(clients.web, f"{COMPUTE}/availabilitySets/web")["name"] == "web"
    )


def test_group_does_not_see_the_hosts_of_its_vms(clients: TokenClients) -> None:
    assert "assignedHost" not in read_resource(clients.web, f"{VMS}/web-0/instanceView")
    whole = read_resource(clients.web, f"{VMS}/web-0?{VERSION}&$expand=instanceView")
    assert "host-a" not in str(whole)


@pytest.mark.parametrize(
    "path",
    [
        f"{VMS}/{{}}",
        f"{VMS}/{{}}/instanceView",
        f"{SETS}/{{set}}",
        f"{SETS}/{{set}}/virtualMachines",
        f"{SETS}/{{set}}/virtualMachines/{{i}}",
        f"{SETS}/{{set}}/virtualMachines/{{i}}/instanceView",
    ],
)
def test_resources_of_other_groups_look_nonexistent(
    clients: TokenClients, path: str
) -> None:
    theirs = path.format("pool_0", set="pool", i="0")
    nobodys = path.format("none_0", set="none", i="0")
    assert arm(clients.admin, "GET", theirs).status == 200
    answers = [arm(clients.web, "GET", item) for item in (theirs, nobodys)]
    assert {error_of(item) for item in answers} == {(404, "ResourceNotFound")}
    messages = [
        item.json["error"]["message"].replace("pool", "none") for item in answers
    ]
    assert messages[0] == messages[1]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", f"{VMS}/pool_0/restart", 404),
        ("POST", f"{VMS}/lone/redeploy", 404),
        ("POST", f"{VMS}/pool_1/simulateEviction", 404),
        ("POST", f"{SETS}/pool/restart", 404),
        ("POST", f"{SETS}/pool/virtualMachines/0/reimage", 404),
        ("DELETE", f"{VMS}/pool_0", 404),
        ("DELETE", f"{VMS}/nobody", 404),  # same response as for a VM of another group
        ("DELETE", f"{SETS}/pool/virtualMachines/0", 404),
    ],
)
def test_group_cannot_change_vms_of_other_groups(
    clients: TokenClients, method: str, path: str, status: int
) -> None:
    before = count(clients)
    assert arm(clients.web, method, path).status == status
    assert count(clients) == before


@pytest.mark.parametrize("slashes", ["", "//"])
def test_group_can_restart_its_own_vms_and_poll_the_operation(
    clients: TokenClients, slashes: str
) -> None:
    answer = arm(clients.web, "POST", f"{slashes}{VMS}/web-0/restart")
    assert answer.status == 202
    assert clients.admin.facts("Announced")[-1]["by"] == "web-team"
    path = answer.headers["Location"].removeprefix(clients.web.control)
    assert clients.web.request("GET", path).status == 202
    started = clients.admin.facts("Announced")[-1]["maintenance"]
    clients.admin.request("POST", f"/v1/maintenances/{started}/cancel")


def test_operations_and_approvals_of_a_group_have_its_limits_and_rank(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = serve(fleet=a_fleet(tmp_path), user_operations_limit=1)
    web = client_with_token(service, "web-team", "group", group="web")
    ranks: list[WriteRank] = []
    turn = WriteQueue.turn

    def record_and_turn(
        queue: WriteQueue, rank: WriteRank, name: str
    ) -> AbstractContextManager[None]:
        if name == "web-team":
            ranks.append(rank)
        return turn(queue, rank, name)

    monkeypatch.setattr(WriteQueue, "turn", record_and_turn)
    assert arm(web, "POST", f"{VMS}/web-0/restart").status == 202
    event = event_of(service, "web-0")
    assert error_of(arm(web, "POST", f"{VMS}/web-1/restart"))[0] == 409
    approval = arm(web, "POST", f"{VMS}/web-0/{EVENTS}/{event}/acknowledge")
    assert approval.status == 200
    assert ranks == [WriteRank.TENANT, WriteRank.TENANT]


def test_operation_of_another_group_gets_404(clients: TokenClients) -> None:
    theirs = clients.admin.announce(vms=["lone"])["guid"]
    assert arm(clients.admin, "GET", f"{LOCATION}/operations/{theirs}").status == 200
    answer = arm(clients.web, "GET", f"{LOCATION}/operations/{theirs}")
    assert error_of(answer) == (404, "NotFound")


def test_group_reads_only_its_share_of_a_cancellation(clients: TokenClients) -> None:
    clients.admin.request("PUT", "/v1/vms/other", {"host": "host-a"})
    shared = clients.admin.announce(host="host-a")["guid"]
    cancel = f"/v1/maintenances/{shared}/cancel"
    assert clients.admin.request("POST", cancel, {"reason": "secret"}).status == 200
    path = f"{LOCATION}/operations/{shared}"
    whole = arm(clients.admin, "GET", path).json["error"]["message"]
    assert "other" in whole
    assert "secret" in whole
    assert arm(clients.web, "GET", path).json["error"]["message"] == (
        "the Reboot of web-0 was canceled before it started"
    )


def test_group_can_approve_only_its_own_events(clients: TokenClients) -> None:
    theirs = clients.admin.announce(vms=["pool_0"])["events"][0]["id"]
    own = clients.admin.announce(vms=["web-1"])["events"][0]["id"]
    approval_path = f"{{}}/{EVENTS}/{theirs}/acknowledge"
    through_them = arm(clients.web, "POST", approval_path.format(f"{SETS}/pool"))
    assert error_of(through_them) == (404, "ResourceNotFound")
    through_us = arm(clients.web, "POST", approval_path.format(f"{VMS}/web-0"))
    assert error_of(through_us) == (404, "InvalidScheduledEventId")
    body = {"value": [theirs, own]}
    both = arm(clients.web, "POST", f"{COMPUTE}/availabilitySets/web/{EVENTS}", body)
    assert both.status == 207
    assert event_of(clients.admin, "pool_0") == theirs
    seen = clients.admin.get(f"/v1/events/{own}")
    assert (seen["approved_by"], seen["approved_via"]) == ("web-team", "arm")
    assert clients.admin.get(f"/v1/events/{theirs}")["approved_by"] is None
