"""What is done with VMs as Azure Resource Manager asks for it."""

from pathlib import Path

import pytest
from tests.server.conftest import Serve
from tests.server.support.arm_client import SETS, VMS, a_fleet, arm, error_of, shown
from tests.server.support.service import RunningService

MEMBER = f"{SETS}/pool/virtualMachines"


@pytest.fixture
def service(serve: Serve, tmp_path: Path) -> RunningService:
    return serve(fleet=a_fleet(tmp_path))


def announced(service: RunningService) -> list[tuple[str, str, list[str]]]:
    """What was announced: the type, the cause and the VMs of each."""
    items = service.get("/v1/maintenances?limit=1000")["items"]
    return [(each["type"], each["cause"], each["vms"]) for each in items]


@pytest.mark.parametrize(
    ("method", "path", "made"),
    [
        ("POST", f"{VMS}/web-0/restart", ("Reboot", "user-restart", "web-0")),
        ("POST", f"{VMS}/web-0/redeploy", ("Redeploy", "user-redeploy", "web-0")),
        ("POST", f"{VMS}/web-0/reimage", ("Reboot", "reimage", "web-0")),
        ("DELETE", f"{VMS}/web-0", ("Terminate", "scale-in", "web-0")),
        ("POST", f"{VMS}/pool_1/restart", ("Reboot", "user-restart", "pool_1")),
        ("POST", f"{VMS}/WEB-1/RESTART", ("Reboot", "user-restart", "web-1")),
        ("POST", f"{MEMBER}/0/restart", ("Reboot", "user-restart", "pool_0")),
        ("POST", f"{MEMBER}/0/redeploy", ("Redeploy", "user-redeploy", "pool_0")),
        ("POST", f"{MEMBER}/0/reimage", ("Reboot", "reimage", "pool_0")),
        ("DELETE", f"{MEMBER}/pool_0", ("Terminate", "scale-in", "pool_0")),
    ],
)
def test_an_operation_is_accepted_and_announced(
    kept: RunningService, method: str, path: str, made: tuple[str, str, str]
) -> None:
    before = announced(kept)
    assert arm(kept, method, path).status == 202
    kind, cause, vm = made
    assert announced(kept) == [*before, (kind, cause, [vm])]


@pytest.mark.parametrize("path", [f"{VMS}/pool_1", f"{MEMBER}/1"])
def test_an_eviction_is_announced_and_nobody_waits_for_it(
    kept: RunningService, path: str
) -> None:
    answer = arm(kept, "POST", f"{path}/simulateEviction")
    assert (answer.status, answer.body) == (204, b"")
    assert "Azure-AsyncOperation" not in answer.headers
    assert announced(kept)[-1:] == [("Preempt", "eviction", ["pool_1"])]


def test_whoever_asked_is_written_down(service: RunningService) -> None:
    arm(service, "POST", f"{VMS}/web-0/restart")
    assert [each["by"] for each in service.facts("Announced")] == ["admin"]


def test_a_second_restart_is_a_second_maintenance(service: RunningService) -> None:
    for _ in range(2):
        assert arm(service, "POST", f"{VMS}/web-0/restart").status == 202
    assert len(announced(service)) == 2


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", f"{VMS}/web-0/simulateEviction"),
        ("POST", f"{VMS}/web-0/deallocate"),
        ("POST", f"{VMS}/web-0/delete"),
        ("POST", f"{MEMBER}/0/simulateEviction"),
        ("POST", f"{MEMBER}/0/powerOff"),
        ("POST", f"{SETS}/pool/simulateEviction"),
    ],
)
def test_what_cannot_be_done_is_not_allowed(
    kept: RunningService, method: str, path: str
) -> None:
    before = announced(kept)
    assert error_of(arm(kept, method, path)) == (409, "OperationNotAllowed")
    assert announced(kept) == before


def test_what_is_being_deleted_is_not_deleted_again(service: RunningService) -> None:
    assert arm(service, "DELETE", f"{MEMBER}/0").status == 202
    again = arm(service, "DELETE", f"{VMS}/pool_0")
    assert error_of(again) == (409, "OperationNotAllowed")


@pytest.mark.parametrize("path", [f"{VMS}/nobody", f"{MEMBER}/7"])
def test_nothing_is_done_with_a_vm_that_is_not_there(
    kept: RunningService, path: str
) -> None:
    restart = arm(kept, "POST", f"{path}/restart")
    assert error_of(restart) == (404, "ResourceNotFound")
    assert arm(kept, "DELETE", path).status == 204  # as on Azure


@pytest.mark.parametrize("method", ["DELETE", "GET"])
def test_in_a_scale_set_that_is_not_there_nothing_is_done(
    kept: RunningService, method: str
) -> None:
    answer = arm(kept, method, f"{SETS}/none/virtualMachines/0")
    assert error_of(answer) == (404, "ResourceNotFound")


def test_in_another_place_nothing_is_done(service: RunningService) -> None:
    other = VMS.replace("/rg/", "/other/")
    restart = arm(service, "POST", f"{other}/web-0/restart")
    assert error_of(restart) == (404, "ResourceNotFound")
    assert arm(service, "DELETE", f"{other}/web-0").status == 204
    assert announced(service) == []


def test_a_body_of_a_reimage_is_of_no_concern(service: RunningService) -> None:
    answer = arm(service, "POST", f"{VMS}/web-0/reimage", {"tempDisk": False})
    assert answer.status == 202


def test_a_vm_that_was_deleted_is_gone_in_the_end(service: RunningService) -> None:
    assert arm(service, "DELETE", f"{MEMBER}/0").status == 202
    assert shown(service, f"{MEMBER}/0")["instanceId"] == "0"
    service.advance(360)
    assert arm(service, "GET", f"{MEMBER}/0").status == 404


# --- several VMs of a scale set ----------------------------------------------


@pytest.mark.parametrize(
    ("action", "body", "vms"),
    [
        ("restart", None, ["pool_0", "pool_1"]),
        ("redeploy", {}, ["pool_0", "pool_1"]),
        ("reimage", {"instanceIds": ["*"]}, ["pool_0", "pool_1"]),
        ("restart", {"instanceIds": ["1"]}, ["pool_1"]),
        ("reimage", {"instanceIds": ["1", "pool_0", "1"]}, ["pool_1", "pool_0"]),
    ],
)
def test_some_vms_of_a_scale_set_are_acted_on_one_by_one(
    kept: RunningService, action: str, body: object, vms: list[str]
) -> None:
    before = announced(kept)
    assert arm(kept, "POST", f"{SETS}/pool/{action}", body).status == 202
    done = announced(kept)[len(before) :]
    assert [named for _, _, named in done] == [[each] for each in vms]


@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("restart", {"instanceIds": ["0", "7"]}),
        ("restart", {"instanceIds": "0"}),
        ("restart", {"instanceIds": [0, None]}),
        ("delete", None),
        ("delete", {}),
    ],
)
def test_vms_that_are_not_named_well_are_all_left_alone(
    kept: RunningService, action: str, body: object
) -> None:
    before = announced(kept)
    answer = arm(kept, "POST", f"{SETS}/pool/{action}", body)
    assert error_of(answer) == (400, "InvalidParameter")
    assert announced(kept) == before


def test_several_vms_of_a_scale_set_are_deleted_at_once(
    service: RunningService,
) -> None:
    body = {"instanceIds": ["0", "1"]}
    assert arm(service, "POST", f"{SETS}/pool/delete", body).status == 202
    service.advance(360)
    assert shown(service, f"{SETS}/pool/virtualMachines") == {"value": []}


def test_if_one_cannot_be_deleted_none_is(service: RunningService) -> None:
    assert arm(service, "DELETE", f"{MEMBER}/1").status == 202
    body = {"instanceIds": ["0", "1"]}
    both = arm(service, "POST", f"{SETS}/pool/delete", body)
    assert error_of(both) == (409, "OperationNotAllowed")
    assert len(announced(service)) == 1


def test_more_user_operations_than_are_allowed_are_refused_together(
    serve: Serve, tmp_path: Path
) -> None:
    service = serve(fleet=a_fleet(tmp_path), user_operations_limit=1)
    both = arm(service, "POST", f"{SETS}/pool/restart")
    assert error_of(both) == (409, "OperationNotAllowed")
    assert announced(service) == []


def test_in_a_scale_set_without_vms_there_is_nothing_to_do(
    kept: RunningService,
) -> None:
    assert arm(kept, "POST", f"{SETS}/empty/restart").status == 200


def test_too_many_vms_are_not_acted_on_at_once(serve: Serve, tmp_path: Path) -> None:
    file = tmp_path / "many.toml"
    vms = (f'[[vms]]\nname = "pool_{i}"\ngroup = "pool"\n' for i in range(101))
    file.write_text('[[groups]]\nname = "pool"\nkind = "scale-set"\n' + "".join(vms))
    service = serve(fleet=str(file))
    many = arm(service, "POST", f"{SETS}/pool/restart")
    assert error_of(many) == (400, "InvalidParameter")


def test_an_instance_that_may_be_several_vms_is_none(
    serve: Serve, tmp_path: Path
) -> None:
    file = tmp_path / "alike.toml"
    names = ("pool_1", "old_1", "old_2", "new_2")
    vms = (f'[[vms]]\nname = "{each}"\ngroup = "pool"\n' for each in names)
    file.write_text('[[groups]]\nname = "pool"\nkind = "scale-set"\n' + "".join(vms))
    service = serve(fleet=str(file))
    assert shown(service, f"{MEMBER}/1")["name"] == "pool_1"
    assert shown(service, f"{MEMBER}/old_2")["name"] == "old_2"
    for method, path in (("POST", f"{MEMBER}/2/restart"), ("DELETE", f"{MEMBER}/2")):
        unclear = arm(service, method, path)
        assert error_of(unclear) == (409, "OperationNotAllowed")
