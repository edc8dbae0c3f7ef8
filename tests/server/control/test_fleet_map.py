"""Fleet map: hosts, groups and VMs in one response; and VMs that are limited."""

import json
from typing import Any

from tests.server.control.test_journal import following, read_stream
from tests.server.control.test_tokens import client_with_token
from tests.server.support.handlers import EVENTS
from tests.server.support.service import RunningService, send_request

DAY = 24 * 3600


def read_fleet_map(service: RunningService) -> Any:
    return service.get("/v1/fleet/map")


def vms(found: Any) -> dict[str, dict[str, Any]]:
    """Return the row of each VM by name."""
    columns = found["vms"]
    rows = zip(*columns.values(), strict=True)
    table = [dict(zip(columns, row, strict=True)) for row in rows]
    return {vm["name"]: vm for vm in table}


def group(found: Any, name: str) -> Any:
    (match,) = [candidate for candidate in found["groups"] if candidate["name"] == name]
    return match


def test_map_is_complete_and_sorted_naturally(
    service: RunningService,
) -> None:
    service.request("PUT", "/v1/vms/web-10", {"group": "web", "host": "host-b"})
    for host in ("host-10", "host-9"):
        service.request("PUT", f"/v1/hosts/{host}", {})
    fleet_map = read_fleet_map(service)
    names = [group_row["name"] for group_row in fleet_map["groups"]]
    assert fleet_map["hosts"] == ["host-9", "host-10", "host-a", "host-b"]
    assert names == ["db", "empty", "lone", "web"]
    assert fleet_map["vms"]["name"] == [
        "db-0",
        "lone",
        "web-0",
        "web-1",
        "web-2",
        "web-10",
    ]


def test_map_matches_the_vms_of_the_fleet(shared: RunningService) -> None:
    fleet_map = read_fleet_map(shared)
    for name, vm in vms(fleet_map).items():
        expected = shared.get(f"/v1/vms/{name}")
        host = None if vm["host"] is None else fleet_map["hosts"][vm["host"]]
        assert fleet_map["groups"][vm["group"]]["name"] == expected["group"]
        assert (host, vm["update_domain"]) == (
            expected["host"],
            expected["update_domain"],
        )
        assert vm["spot"] == expected["spot"]


def test_map_shows_changes_immediately(service: RunningService) -> None:
    service.request("PUT", "/v1/hosts/host-c", {})
    body = {"group": "web", "host": "host-c", "update_domain": 2, "spot": True}
    assert service.request("PUT", "/v1/vms/web-2", body).status == 200
    fleet_map = read_fleet_map(service)
    moved = vms(fleet_map)["web-2"]
    assert (fleet_map["hosts"][moved["host"]], moved["spot"]) == ("host-c", True)
    assert service.request("DELETE", "/v1/vms/lone").status == 204
    fleet_map = read_fleet_map(service)
    assert "lone" not in fleet_map["vms"]["name"]
    assert "lone" not in [group_row["name"] for group_row in fleet_map["groups"]]


def test_map_shows_the_last_poll_of_a_vm(service: RunningService) -> None:
    assert {vm["last_request"] for vm in vms(read_fleet_map(service)).values()} == {
        None
    }
    service.document("web-1")
    now = service.get("/v1/clock")["now"]
    polled_at = {
        name: vm["last_request"] for name, vm in vms(read_fleet_map(service)).items()
    }
    assert polled_at.pop("web-1") == now
    assert set(polled_at.values()) == {None}


def test_group_is_disabled_before_its_first_poll_and_after_a_day(
    service: RunningService,
) -> None:
    lone = group(read_fleet_map(service), "lone")
    assert (lone["is_disabled"], lone["last_request"]) == (True, None)
    service.document("lone")
    polled_at = service.get("/v1/clock")["now"]
    lone = group(read_fleet_map(service), "lone")
    assert (lone["is_disabled"], lone["last_request"]) == (False, polled_at)
    service.advance(DAY)
    assert group(read_fleet_map(service), "lone")["is_disabled"]


def test_always_enabled_group_is_never_disabled(shared: RunningService) -> None:
    web = group(read_fleet_map(shared), "web")
    assert (web["enabled"], web["is_disabled"]) == ("always", False)


def test_map_has_position_and_time(
    service: RunningService,
) -> None:
    service.announce(vms=["lone"])
    fleet_map = read_fleet_map(service)
    assert fleet_map["position"] == len(service.facts())
    assert fleet_map["now"] == service.get("/v1/clock")["now"]


def test_group_token_sees_its_own_vms_without_hosts(
    service: RunningService,
) -> None:
    web = client_with_token(service, "web-team", "group", group="web")
    fleet_map = read_fleet_map(web)
    assert fleet_map["hosts"] == []
    assert [group_row["name"] for group_row in fleet_map["groups"]] == ["web"]
    assert fleet_map["vms"]["name"] == ["web-0", "web-1", "web-2"]
    assert set(fleet_map["vms"]["host"]) == {None}
    assert fleet_map["vms"]["update_domain"] == [0, 1, 2]


# --- limited VMs -------------------------------------------------------------


def test_limited_vms_are_shown_to_operators_and_to_their_group(
    service: RunningService,
) -> None:
    ids = [{"EventId": f"E{number}"} for number in range(101)]
    body = json.dumps({"StartRequests": ids}).encode()
    for vm in ("db-0", "web-0", "web-0"):
        url = f"{service.metadata}/vm/{vm}{EVENTS}"
        assert send_request("POST", url, body, Metadata="true").status == 400
    limited = service.get("/v1/fleet/limited")["items"]
    assert [(vm["name"], vm["refused"]) for vm in limited] == [
        ("web-0", 2),
        ("db-0", 1),
    ]
    assert limited[0]["limits"] == {"approved_events": 2}
    web = client_with_token(service, "web-team", "group", group="web")
    assert web.get("/v1/fleet/limited")["items"] == limited[:1]
    with following(web, "?also=limits") as stream:
        (event,) = read_stream(stream, 1)
    (item,) = json.loads(event["data"])["items"]
    assert item["text"] == (
        "VM web-0, 2 requests refused in the last hour (approved events)"
    )


# --- checks ------------------------------------------------------------------


def test_checks_name_what_is_unusual(service: RunningService) -> None:
    service.request("PUT", "/v1/hosts/spare", {})
    service.request("PUT", "/v1/vms/stray", {"group": "web"})
    checks = service.get("/v1/fleet/checks")
    assert (checks["hosts"], checks["groups"], checks["vms"]) == (3, 4, 6)
    found = {
        finding["check"]: [item["name"] for item in finding["items"]]
        for finding in checks["findings"]
    }
    assert found["group-without-vms"] == ["empty"]
    assert "stray" in found["vm-without-host"]


def test_checks_for_a_group_token_hide_other_groups_and_hosts(
    service: RunningService,
) -> None:
    team = client_with_token(service, "web-checks", "group", group="web")
    checks = team.get("/v1/fleet/checks")
    assert (checks["hosts"], checks["groups"], checks["vms"]) == (None, 1, 3)
    assert {finding["check"] for finding in checks["findings"]} <= {"group-disabled"}
