"""Permissions of admin, viewer and group tokens below /subscriptions."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.server.control.test_tokens import holding
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
    shown,
)
from tests.server.support.service import RunningService, a_service, ask

EVENTS = "providers/Microsoft.Maintenance/scheduledevents"
LOCATION = f"/subscriptions/{SUBSCRIPTION}/providers/Microsoft.Compute/locations/l"


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenClients:
    """A service with clients for an admin, a viewer and the team of group web."""

    admin: RunningService
    viewer: RunningService
    web: RunningService


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenClients]:
    folder = tmp_path_factory.mktemp("scene")
    with a_service(folder, fleet=a_fleet(folder)) as service:
        yield TokenClients(
            admin=service,
            viewer=holding(service, "somebody", "viewer"),
            web=holding(service, "web-team", "group", group="web"),
        )


def count(scene: TokenClients) -> int:
    """Return the number of announcements so far."""
    return len(scene.admin.facts("Announced"))


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
    scene: TokenClients, method: str, path: str
) -> None:
    before = count(scene)
    answer = arm(scene.viewer, method, path)
    assert error_of(answer) == (403, "AuthorizationFailed")
    assert count(scene) == before


def test_viewer_sees_everything(scene: TokenClients) -> None:
    assert shown(scene.viewer, VMS) == shown(scene.admin, VMS)
    assert shown(scene.viewer, f"{VMS}/web-0/instanceView")["assignedHost"] == "host-a"


def test_too_many_wrong_tokens_get_429_in_arm_format(scene: TokenClients) -> None:
    url = f"{scene.admin.control}{VMS}/web-0?{VERSION}"
    for _ in range(20):
        assert ask("GET", url, Authorization="Bearer wrong").status == 401
    answer = ask("GET", url, Authorization="Bearer wrong")
    assert error_of(answer) == (429, "TooManyRequests")
    assert int(answer.headers["Retry-After"]) >= 1
    assert arm(scene.web, "GET", f"{VMS}/web-0").status == 200


# --- group tokens ------------------------------------------------------------


def test_group_sees_its_own_vms_and_set(scene: TokenClients) -> None:
    assert shown(scene.web, f"{VMS}/web-0")["name"] == "web-0"
    assert shown(scene.web, f"/{VMS}/web-0")["name"] == "web-0"
    assert [vm["name"] for vm in shown(scene.web, VMS)["value"]] == [
        "web-0",
        "web-1",
    ]
    assert shown(scene.web, f"{COMPUTE}/availabilitySets/web")["name"] == "web"


def test_group_does_not_see_the_hosts_of_its_vms(scene: TokenClients) -> None:
    assert "assignedHost" not in shown(scene.web, f"{VMS}/web-0/instanceView")
    whole = shown(scene.web, f"{VMS}/web-0?{VERSION}&$expand=instanceView")
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
    scene: TokenClients, path: str
) -> None:
    theirs = path.format("pool_0", set="pool", i="0")
    nobodys = path.format("none_0", set="none", i="0")
    assert arm(scene.admin, "GET", theirs).status == 200
    answers = [arm(scene.web, "GET", item) for item in (theirs, nobodys)]
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
    scene: TokenClients, method: str, path: str, status: int
) -> None:
    before = count(scene)
    assert arm(scene.web, method, path).status == status
    assert count(scene) == before


@pytest.mark.parametrize("slashes", ["", "//"])
def test_group_can_restart_its_own_vms_and_poll_the_operation(
    scene: TokenClients, slashes: str
) -> None:
    answer = arm(scene.web, "POST", f"{slashes}{VMS}/web-0/restart")
    assert answer.status == 202
    assert scene.admin.facts("Announced")[-1]["by"] == "web-team"
    path = answer.headers["Location"].removeprefix(scene.web.control)
    assert scene.web.ask("GET", path).status == 202


def test_operation_of_another_group_gets_404(scene: TokenClients) -> None:
    theirs = scene.admin.announce(vms=["lone"])["id"]
    assert arm(scene.admin, "GET", f"{LOCATION}/operations/{theirs}").status == 200
    answer = arm(scene.web, "GET", f"{LOCATION}/operations/{theirs}")
    assert error_of(answer) == (404, "NotFound")


def test_group_reads_only_its_share_of_a_cancellation(scene: TokenClients) -> None:
    scene.admin.ask("PUT", "/v1/vms/other", {"host": "host-a"})
    shared = scene.admin.announce(host="host-a")["id"]
    cancel = f"/v1/maintenances/{shared}/cancel"
    assert scene.admin.ask("POST", cancel, {"reason": "secret"}).status == 200
    path = f"{LOCATION}/operations/{shared}"
    whole = arm(scene.admin, "GET", path).json["error"]["message"]
    assert "other" in whole
    assert "secret" in whole
    assert arm(scene.web, "GET", path).json["error"]["message"] == (
        "the Reboot of web-0 was called off before it started"
    )


def test_group_can_approve_only_its_own_events(scene: TokenClients) -> None:
    theirs = scene.admin.announce(vms=["pool_0"])["events"][0]["id"]
    own = scene.admin.announce(vms=["web-1"])["events"][0]["id"]
    approval_path = f"{{}}/{EVENTS}/{theirs}/acknowledge"
    through_them = arm(scene.web, "POST", approval_path.format(f"{SETS}/pool"))
    assert error_of(through_them) == (404, "ResourceNotFound")
    through_us = arm(scene.web, "POST", approval_path.format(f"{VMS}/web-0"))
    assert error_of(through_us) == (404, "InvalidScheduledEventId")
    body = {"value": [theirs, own]}
    both = arm(scene.web, "POST", f"{COMPUTE}/availabilitySets/web/{EVENTS}", body)
    assert both.status == 207
    assert event_of(scene.admin, "pool_0") == theirs
    seen = scene.admin.get(f"/v1/events/{own}")
    assert (seen["approved_by"], seen["approved_via"]) == ("web-team", "arm")
    assert scene.admin.get(f"/v1/events/{theirs}")["approved_by"] is None
