"""Portal actions on maintenance, VMs, hosts and groups."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect
from tests.browser.components import mount, mounted
from tests.browser.conftest import Serve
from tests.browser.portal_user import PortalUser
from tests.server.support.service import FLEET, RunningService, a_service

SPOT = '[[vms]]\nname = "spot"\nspot = true\n'


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a service whose work ends when an operator reports it as done."""
    folder = tmp_path_factory.mktemp("shared")
    with a_service(folder, driver="operator", fleet=_fleet(folder)) as service:
        yield service


def _fleet(folder: Path) -> str:
    file = folder / "spot.toml"
    file.write_text(FLEET + SPOT)
    return str(file)


@pytest.fixture(scope="module")
def viewer_token(shared: RunningService) -> str:
    """Return the token of a viewer."""
    body = {"name": "onlooker", "role": "viewer"}
    return str(shared.request("POST", "/v1/tokens", body).json["token"])


def press(page: Page, *names: str) -> None:
    """Press buttons one after another."""
    for name in names:
        page.get_by_role("button", name=name, exact=True).click()


def expect_message(page: Page, text: str) -> None:
    """Expect `text` on the page, and no open dialog."""
    expect(page.locator("#said")).to_contain_text(text)
    expect(page.get_by_role("dialog")).to_have_count(0)


def buttons(page: Page) -> Sequence[str]:
    return page.get_by_role("button").all_inner_texts()


def now(service: RunningService, maintenance: Any) -> Any:
    return service.get(f"/v1/maintenances/{maintenance['id']}")


# --- maintenance -------------------------------------------------------------


def test_all_events_are_approved_at_once(
    user: PortalUser, shared: RunningService
) -> None:
    maintenance = shared.announce(host="host-a")
    page = mounted(user, shared, "MaintenanceActions", of=maintenance["id"])
    press(page, "Approve: Reboot of host-a", "Approve")
    expect_message(page, "Approved for db, web: Reboot of host-a.")
    current = now(shared, maintenance)
    assert [event["approved_by"] for event in current["events"]] == ["admin", "admin"]
    assert current["phase"] == "STARTED"
    assert (
        shared.request("POST", f"/v1/maintenances/{maintenance['id']}/complete").status
        == 200
    )


def test_one_of_two_events_can_be_approved(
    user: PortalUser, shared: RunningService
) -> None:
    maintenance = shared.announce(host="host-a")
    page = mounted(user, shared, "MaintenanceActions", of=maintenance["id"])
    press(page, "Approve: Reboot of host-a")
    page.get_by_label("web: web-0").uncheck()
    press(page, "Approve")
    expect_message(page, "Approved for db: Reboot of host-a.")
    approved = {
        event["group"]: event["approved_by"]
        for event in now(shared, maintenance)["events"]
    }
    assert approved == {"web": None, "db": "admin"}


def test_maintenance_is_canceled_with_a_reason(
    user: PortalUser, shared: RunningService
) -> None:
    maintenance = shared.announce(vms=["lone"])
    page = mounted(user, shared, "MaintenanceActions", of=maintenance["id"])
    press(page, "Cancel maintenance: Reboot of lone")
    page.get_by_label("Reason").fill("not today")
    press(page, "Cancel maintenance")
    expect_message(page, "Canceled: Reboot of lone.")
    (fact,) = [
        entry
        for entry in shared.facts("Canceled")
        if entry["maintenance"] == maintenance["id"]
    ]
    assert (fact["by"], fact["reason"]) == ("admin", "not today")


def test_a_started_maintenance_can_be_marked_as_done(
    user: PortalUser, shared: RunningService
) -> None:
    maintenance = shared.announce(vms=["lone"], emergency=True, reason="smoke")
    page = mounted(user, shared, "MaintenanceActions", of=maintenance["id"])
    assert buttons(page) == ["Mark as done"]
    press(page, "Mark as done: Reboot of lone", "Mark as done")
    expect_message(page, "Marked as done: Reboot of lone.")
    shared.advance(10)
    assert now(shared, maintenance)["phase"] == "COMPLETED"


def test_a_stuck_maintenance_can_be_retried_or_given_up(
    user: PortalUser, serve: Serve
) -> None:
    service = serve(driver="script", driver_command="false", lead=0)
    maintenance = service.announce(vms=["lone"], emergency=True, reason="smoke")
    service.advance(1)
    page = mounted(user, service, "MaintenanceActions", of=maintenance["id"])
    assert buttons(page) == ["Mark as done", "Retry", "Give up"]
    press(page, "Retry: Reboot of lone", "Retry")
    expect_message(page, "Running the driver again: Reboot of lone.")
    service.advance(1)
    press(page, "Give up: Reboot of lone", "Give up")
    expect_message(page, "Given up: Reboot of lone.")
    assert now(service, maintenance)["phase"] == "FAILED"


# --- VMs, hosts and groups ---------------------------------------------------


def test_every_action_on_a_vm_works(user: PortalUser, shared: RunningService) -> None:
    page = mounted(user, shared, "VmActions", name="spot", isSpot=True)
    for act in ("Restart", "Redeploy", "Reimage", "Evict", "Delete"):
        press(page, f"{act}: spot")
        page.get_by_label("Reason").fill(act)
        press(page, act)
        expect_message(page, "of spot")
        started = shared.facts("Announced")[-1]["maintenance"]
        shared.request("POST", f"/v1/maintenances/{started}/complete")
        shared.advance(5)  # one user operation of a VM at a time
    assert {
        maintenance["reason"]: maintenance["cause"]
        for maintenance in shared.get("/v1/maintenances?limit=1000")["items"]
        if maintenance["vms"] == ["spot"]
    } == {
        "Restart": "user-restart",
        "Redeploy": "user-redeploy",
        "Reimage": "reimage",
        "Evict": "eviction",
        "Delete": "scale-in",
    }


def test_a_deallocated_vm_is_started(user: PortalUser, shared: RunningService) -> None:
    policy = {"spot": True, "eviction_policy": "deallocate"}
    shared.request("PUT", "/v1/vms/evicted", policy)
    shared.request("POST", "/v1/vms/evicted/evict")
    shared.advance(30)
    preempt = shared.facts("Announced")[-1]["maintenance"]
    shared.request("POST", f"/v1/maintenances/{preempt}/complete")
    shared.advance(5)
    page = mounted(
        user, shared, "VmActions", name="evicted", isSpot=True, isDeallocated=True
    )
    assert buttons(page) == ["Mark as running", "Delete"]
    press(page, "Mark as running: evicted", "Mark as running")
    expect_message(page, "The VM is marked as running.")
    assert shared.get("/v1/vms/evicted")["deallocated"] is False


@pytest.mark.full
def test_only_a_spot_vm_can_be_evicted(
    user: PortalUser, shared: RunningService
) -> None:
    page = mounted(user, shared, "VmActions", name="lone", isSpot=False)
    shown = ["Announce…", "Restart", "Redeploy", "Reimage", "Delete"]
    assert buttons(page) == shown


def test_a_host_can_be_reported_degraded_failed_and_recovered(
    user: PortalUser, serve: Serve
) -> None:
    service = serve()
    page = mounted(user, service, "HostActions", name="host-b")
    press(page, "Mark as degraded: host-b", "Mark as degraded")
    expect_message(page, "Scheduled: Redeploy of host-b")
    press(page, "Mark as failed: host-b", "Mark as failed")
    expect_message(page, "Started: Reboot of host-b.")
    press(page, "Mark as recovered: host-b", "Mark as recovered")
    expect_message(page, "Ended: Reboot of host-b.")
    press(page, "Mark as recovered: host-b", "Mark as recovered")
    expect_message(page, "Nothing to do: the host is not marked as degraded or failed.")
    causes = [
        maintenance["cause"] for maintenance in service.get("/v1/maintenances")["items"]
    ]
    assert [*dict.fromkeys(causes)] == ["degraded", "host-failure"]


@pytest.mark.full
def test_the_predicted_failure_is_entered_in_local_time(
    user: PortalUser, serve: Serve
) -> None:
    service = serve()
    service.request("POST", "/v1/clock/advance", {"to": "2035-07-01T00:00:00Z"})
    page = mounted(user, service, "HostActions", name="host-b")
    press(page, "Mark as degraded: host-b")
    page.get_by_label("Fails by").fill("2035-07-03T12:00:00")
    expect(page.get_by_role("dialog")).to_contain_text("2035-07-03 10:00:00 UTC")
    press(page, "Mark as degraded")
    expect_message(page, "not before 3 Jul 2035 12:00:00")


@pytest.mark.full
def test_the_announce_form_starts_with_its_target(
    user: PortalUser, shared: RunningService
) -> None:
    page = mounted(user, shared, "HostActions", name="lone")
    press(page, "Announce…: lone")
    assert begun(page) == ("host", ["Freeze", "Reboot", "Redeploy"])
    page.keyboard.press("Escape")
    mount(page, "GroupActions", name="lone")
    press(page, "Announce…: lone")
    assert begun(page)[0] == "group"
    page.keyboard.press("Escape")
    mount(page, "VmActions", name="lone", isSpot=False)
    press(page, "Announce…: lone")
    assert begun(page)[0] == "vms"


def begun(page: Page) -> tuple[str | None, Sequence[str]]:
    """Return the target of the open form, and the types it offers."""
    dialog = page.get_by_role("dialog", name="Announce maintenance")
    types = dialog.get_by_label("Type", exact=True).locator("option").all_inner_texts()
    target = dialog.locator("[name=target]:checked").get_attribute("value")
    return target, types


# --- refusals, clicks and keys -----------------------------------------------


def test_an_error_shows_the_service_message_and_keeps_the_dialog_open(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("status of 409")
    maintenance = shared.announce(vms=["lone"])
    page = mounted(user, shared, "MaintenanceActions", of=maintenance["id"])
    press(page, "Cancel maintenance: Reboot of lone")
    page.get_by_label("Reason").fill("too late")
    (event,) = maintenance["events"]
    shared.request("POST", f"/v1/events/{event['id']}/approve")
    press(page, "Cancel maintenance")
    alert = page.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("has started and cannot be canceled")
    expect(page.get_by_label("Reason")).to_have_value("too late")


def test_submitting_twice_takes_effect_once(
    user: PortalUser, shared: RunningService
) -> None:
    before = len(shared.facts("Announced"))
    page = mounted(user, shared, "VmActions", name="lone", isSpot=False)
    press(page, "Reimage: lone")
    page.locator("dialog form").evaluate(
        "(it) => [it.requestSubmit(), it.requestSubmit()]"
    )
    expect_message(page, "Reboot of lone")
    assert len(shared.facts("Announced")) == before + 1


@pytest.mark.full
def test_a_retry_after_a_lost_response_takes_effect_once(
    user: PortalUser, shared: RunningService
) -> None:
    user.allow_errors("ERR_FAILED")
    shared.request("PUT", "/v1/vms/fresh", {})
    before = len(shared.facts("Announced"))
    page = mounted(user, shared, "VmActions", name="fresh", isSpot=False)

    def lose(route: Route) -> None:
        route.fetch()
        route.abort()

    page.route("**/v1/vms/fresh/reimage", lose, times=1)
    press(page, "Reimage: fresh", "Reimage")
    alert = page.get_by_role("dialog").get_by_role("alert")
    expect(alert).to_contain_text("may or may not have been carried out")
    press(page, "Reimage")
    expect_message(page, "Reboot of fresh")
    assert len(shared.facts("Announced")) == before + 1


@pytest.mark.full
def test_escape_changes_nothing_and_restores_the_focus(
    user: PortalUser, shared: RunningService
) -> None:
    before = len(shared.facts())
    page = mounted(user, shared, "VmActions", name="lone", isSpot=False)
    opener = page.get_by_role("button", name="Delete: lone")
    opener.press("Enter")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(opener).to_be_focused()
    assert len(shared.facts()) == before


def test_a_viewer_sees_no_buttons(
    user: PortalUser, shared: RunningService, viewer_token: str
) -> None:
    maintenance = shared.announce(vms=["web-2"])
    page = mounted(
        user, shared, "VmActions", token=viewer_token, name="lone", isSpot=True
    )
    assert buttons(page) == []
    mount(page, "HostActions", name="host-a")
    assert buttons(page) == []
    mount(page, "GroupActions", name="web")
    assert buttons(page) == []
    mount(page, "MaintenanceActions", of=maintenance["id"])
    assert buttons(page) == []
