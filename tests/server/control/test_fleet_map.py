"""The whole fleet at a glance."""

from typing import Any

from tests.server.control.test_tokens import holding
from tests.server.support.service import RunningService

DAY = 24 * 3600


def shown(service: RunningService) -> Any:
    return service.get("/v1/fleet/map")


def vms(found: Any) -> dict[str, dict[str, Any]]:
    """What is said of each VM, by its name."""
    columns = found["vms"]
    rows = zip(*columns.values(), strict=True)
    named = [dict(zip(columns, row, strict=True)) for row in rows]
    return {each["name"]: each for each in named}


def group(found: Any, name: str) -> Any:
    (one,) = [each for each in found["groups"] if each["name"] == name]
    return one


def test_all_that_there_is_is_shown_in_the_order_of_names(
    service: RunningService,
) -> None:
    service.ask("PUT", "/v1/vms/web-10", {"group": "web", "host": "host-b"})
    for host in ("host-10", "host-9"):
        service.ask("PUT", f"/v1/hosts/{host}", {})
    found = shown(service)
    names = [each["name"] for each in found["groups"]]
    assert found["hosts"] == ["host-9", "host-10", "host-a", "host-b"]
    assert names == ["db", "empty", "lone", "web"]
    assert found["vms"]["name"] == ["db-0", "lone", "web-0", "web-1", "web-2", "web-10"]


def test_every_vm_is_where_the_fleet_has_it(shared: RunningService) -> None:
    found = shown(shared)
    for name, vm in vms(found).items():
        known = shared.get(f"/v1/vms/{name}")
        host = None if vm["host"] is None else found["hosts"][vm["host"]]
        assert found["groups"][vm["group"]]["name"] == known["group"]
        assert (host, vm["update_domain"]) == (known["host"], known["update_domain"])
        assert vm["spot"] == known["spot"]


def test_what_has_changed_is_shown_at_once(service: RunningService) -> None:
    service.ask("PUT", "/v1/hosts/host-c", {})
    body = {"group": "web", "host": "host-c", "update_domain": 2, "spot": True}
    assert service.ask("PUT", "/v1/vms/web-2", body).status == 200
    found = shown(service)
    moved = vms(found)["web-2"]
    assert (found["hosts"][moved["host"]], moved["spot"]) == ("host-c", True)
    assert service.ask("DELETE", "/v1/vms/lone").status == 204
    found = shown(service)
    assert "lone" not in found["vms"]["name"]
    assert "lone" not in [each["name"] for each in found["groups"]]


def test_a_vm_that_has_asked_says_when(service: RunningService) -> None:
    assert {each["asked"] for each in vms(shown(service)).values()} == {None}
    service.document("web-1")
    now = service.get("/v1/clock")["now"]
    asked = {name: each["asked"] for name, each in vms(shown(service)).items()}
    assert asked.pop("web-1") == now
    assert set(asked.values()) == {None}


def test_a_group_is_silent_until_it_asks_and_after_a_day(
    service: RunningService,
) -> None:
    lone = group(shown(service), "lone")
    assert (lone["is_silent"], lone["last_request"]) == (True, None)
    service.document("lone")
    asked = service.get("/v1/clock")["now"]
    lone = group(shown(service), "lone")
    assert (lone["is_silent"], lone["last_request"]) == (False, asked)
    service.advance(DAY)
    assert group(shown(service), "lone")["is_silent"]


def test_a_group_that_always_listens_is_not_silent(shared: RunningService) -> None:
    web = group(shown(shared), "web")
    assert (web["listening"], web["is_silent"]) == ("always", False)


def test_the_position_and_the_time_of_the_moment_are_told(
    service: RunningService,
) -> None:
    service.announce(vms=["lone"])
    found = shown(service)
    assert found["position"] == len(service.facts())
    assert found["now"] == service.get("/v1/clock")["now"]


def test_a_group_is_shown_its_own_vms_and_not_where_they_are(
    service: RunningService,
) -> None:
    web = holding(service, "web-team", "group", group="web")
    found = shown(web)
    assert found["hosts"] == []
    assert [each["name"] for each in found["groups"]] == ["web"]
    assert found["vms"]["name"] == ["web-0", "web-1", "web-2"]
    assert set(found["vms"]["host"]) == {None}
    assert found["vms"]["update_domain"] == [0, 1, 2]
