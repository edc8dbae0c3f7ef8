"""Tests of `forewarn maintenance` and `forewarn events`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, E2, M1, a_maintenance, an_event, page
from tests.cli.support.service import Service


def test_live_maintenance_is_listed(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T12:01:00Z")
    service.respond("GET", "/v1/maintenances", page(a_maintenance(vms=["web-0"])))
    assert run("maintenance list").splitlines() == [
        f"{'ID':36}  EVENT             NOT BEFORE         VMS",
        f"{M1}  Reboot SCHEDULED  2026-01-01         web-0",
        f"{'':36}  approved 0/1      12:15:00Z",
        f"{'':36}                    (in 14 min)",
    ]
    phases = [value for name, value in service.requests[0].query if name == "phase"]
    assert phases == ["SCHEDULED", "STARTED"]


def test_all_maintenance_is_listed_on_request(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/maintenances", page())
    run("maintenance list --all")
    assert service.requests[0].query == [("limit", "1000")]


def test_stuck_maintenance_is_marked_in_the_list(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T12:20:00Z")
    stuck = a_maintenance(phase="STARTED", stuck_since="2026-01-01T12:16:00Z")
    service.respond("GET", "/v1/maintenances", page(stuck))
    assert "stuck" in run("maintenance list")


def test_one_maintenance_is_shown_with_its_events(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T12:05:00Z")
    approved = an_event(
        approved_by="web-0",
        approved_via="metadata",
        approved_at="2026-01-01T12:02:00Z",
        seen_by=[{"vm": "web-0", "at": "2026-01-01T12:01:00Z"}],
    )
    waiting = an_event(id=E2, group="db", resources=["db-0"], seen_by=["db-0"])
    maintenance = a_maintenance(host="host-a", events=[approved, waiting])
    service.respond("GET", f"/v1/maintenances/{M1}", maintenance)
    assert run(f"maintenance show {M1}") == (
        "Reboot of host-a (web-0, web-1), SCHEDULED\n"
        f"  id           {M1}\n"
        "  source       Platform (platform)\n"
        "  host         host-a\n"
        "  VMs          web-0, web-1\n"
        "  not before   2026-01-01 12:15:00Z (in 10 min)\n"
        "  duration     unknown\n"
        "  description  Host server is undergoing maintenance.\n"
        "  announced    2026-01-01 12:00:00Z (5 min ago)\n"
        f"event {E1} for group web\n"
        "  resources  web-0, web-1\n"
        "  status     Scheduled\n"
        "  approved   by web-0 via metadata, 2026-01-01 12:02:00Z (3 min ago)\n"
        "  seen by    web-0 (2026-01-01 12:01:00Z)\n"
        f"event {E2} for group db\n"
        "  resources  db-0\n"
        "  status     Scheduled\n"
        "  approved   not yet\n"
        "  seen by    db-0\n"
    )


def test_event_is_approved_alone_by_its_id_in_any_case(
    service: Service, run: Cli
) -> None:
    events = [an_event(), an_event(id=E2, group="db")]
    lower = E2.lower()
    service.respond("GET", f"/v1/maintenances/{lower}", a_maintenance(events=events))
    service.respond("POST", f"/v1/events/{E2}/approve", events[1])
    assert run(f"maintenance approve {lower}") == (
        f"approved: event {E2} for group db\n"
        "Reboot of web-0, web-1 is SCHEDULED; 2 of 2 events are not approved yet\n"
        f"    ({M1})\n"
    )
    assert service.only("POST").path == f"/v1/events/{E2}/approve"


def test_a_maintenance_is_approved_with_all_its_events(
    service: Service, run: Cli
) -> None:
    before = a_maintenance(events=[an_event(), an_event(id=E2)])
    service.respond("GET", f"/v1/maintenances/{M1}", before)
    service.respond("GET", f"/v1/maintenances/{M1}", a_maintenance(phase="STARTED"))
    service.respond("POST", f"/v1/events/{E1}/approve", an_event())
    service.respond("POST", f"/v1/events/{E2}/approve", an_event(id=E2))
    assert "is STARTED" in run(f"maintenance approve {M1}")
    posted = [request.path for request in service.requests if request.method == "POST"]
    assert posted == [f"/v1/events/{E1}/approve", f"/v1/events/{E2}/approve"]


def test_event_that_is_gone_is_not_approved(service: Service, run: Cli) -> None:
    maintenance = a_maintenance(events=[an_event(status=None), an_event(id=E2)])
    service.respond("GET", f"/v1/maintenances/{M1}", maintenance)
    service.respond("POST", f"/v1/events/{E2}/approve", an_event(id=E2))
    run(f"maintenance approve {M1}")
    assert service.only("POST").path == f"/v1/events/{E2}/approve"


def test_approving_finished_maintenance_is_refused_by_the_service(
    service: Service, run: Cli
) -> None:
    over = a_maintenance(phase="COMPLETED", events=[an_event(status=None)])
    service.respond("GET", f"/v1/maintenances/{M1}", over)
    service.refuse("POST", f"/v1/events/{E1}/approve", 409, f"{M1} is COMPLETED")
    assert run(f"maintenance approve {M1}", code=1) == f"forewarn: {M1} is COMPLETED\n"


def test_json_of_an_approval_is_a_list_of_events(service: Service, run: Cli) -> None:
    service.respond("GET", f"/v1/maintenances/{M1}", a_maintenance())
    service.respond("POST", f"/v1/events/{E1}/approve", an_event())
    assert json.loads(run(f"maintenance approve {M1} --json")) == [an_event()]


@pytest.mark.parametrize(
    ("verb", "phase"),
    [("cancel", "CANCELED"), ("complete", "COMPLETED"), ("retry", "STARTED")],
)
def test_a_maintenance_is_changed(
    service: Service, verb: str, phase: str, run: Cli
) -> None:
    path = f"/v1/maintenances/{M1}/{verb}"
    service.respond("POST", path, a_maintenance(phase=phase))
    shown = f"Reboot of web-0, web-1 is {phase} ({M1})\n"
    assert run(f"maintenance {verb} {M1}") == shown
    assert service.only("POST").body == {}


@pytest.mark.parametrize("verb", ["cancel", "close"])
def test_reason_is_sent_to_the_service(service: Service, verb: str, run: Cli) -> None:
    path = f"/v1/maintenances/{M1}/{verb}"
    service.respond("POST", path, a_maintenance(phase="FAILED"))
    run(f"maintenance {verb} {M1} --reason 'wrong host' --json")
    assert service.only("POST").body == {"reason": "wrong host"}


def test_id_is_escaped_in_the_path(service: Service, run: Cli) -> None:
    run("maintenance show", "../clock?x", code=1)
    assert service.requests[0].path == "/v1/maintenances/..%2Fclock%3Fx"
