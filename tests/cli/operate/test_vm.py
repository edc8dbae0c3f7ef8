"""Tests of `forewarn vm`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import (
    E1,
    M1,
    Json,
    a_group,
    a_maintenance,
    a_vm,
    an_event,
)
from tests.cli.support.service import Service

from forewarn.cli import main

#: Options of commands that would otherwise prompt for confirmation.
YES = {"delete": " --yes"}


def respond_with_maintenance(
    service: Service, operation: str, **changed: object
) -> Json:
    """Make the service announce `operation` on web-0 at noon."""
    maintenance = a_maintenance(
        **{"source": "User", "cause": "user-restart", "vms": ["web-0"], **changed}
    )
    answer: Json = {"maintenances": [maintenance]}
    service.respond("POST", f"/v1/vms/web-0/{operation}", answer, 201)
    return answer


def lines_of(text: str) -> list[str]:
    lines = text.splitlines()
    assert max(map(len, lines)) <= 80
    return lines


def test_announcement_prints_what_happens_and_what_comes_next(
    service: Service, run: Cli
) -> None:
    respond_with_maintenance(service, "restart", description="Restart.")
    assert lines_of(run("vm restart web-0")) == [
        "announced: Reboot of web-0",
        f"  id           {M1}",
        "  starts       by 2026-01-01 12:15:00Z (in 15 min), earlier if all groups",
        "               approve, later if blocked",
        "  notified     web",
        f"  event        {E1} (web)",
        "  source       User (user-restart)",
        "  description  Restart.",
        "next:",
        f"  forewarn maintenance show {M1}",
        f"  forewarn maintenance explain {M1}",
        f"  forewarn maintenance approve {M1}",
        f"  forewarn maintenance cancel {M1}",
        "  forewarn journal --follow",
    ]


def test_no_value_of_a_response_starts_a_line(service: Service, run: Cli) -> None:
    forged = f"{M1}\r\nFORGED: ok"
    respond_with_maintenance(
        service, "restart", id=forged, vms=[forged], description=forged
    )
    shown = run("vm restart web-0")
    assert shown.count("FORGED") == 7  # every value is still shown
    assert not [line for line in lines_of(shown) if line.startswith("FORGED")]


@pytest.mark.parametrize(
    ("operation", "group", "said"),
    [
        (
            "restart",
            {},
            "group web has never polled for events, so web-0 is restarted immediately",
        ),
        (
            "reimage",
            {"last_request": "2025-12-30T09:00:00Z"},
            "group web has not polled for events in the last 24 h (last poll: 2 d 3 h"
            " ago), so web-0 is reimaged immediately",
        ),
        (
            "delete",
            {"kind": "availability-set"},
            "only scale sets support terminate notice, so web-0 is deleted immediately",
        ),
        (
            "delete",
            {"kind": "scale-set"},
            "scale set web does not use terminate notice, so web-0 is deleted"
            " immediately",
        ),
        (
            "delete",
            {"kind": "scale-set", "terminate_notice_seconds": 300},
            "spot VMs get no terminate notice, so web-0 is deleted immediately",
        ),
    ],
)
def test_immediate_start_is_reported_with_the_reason(
    service: Service, operation: str, group: Json, said: str, run: Cli
) -> None:
    respond_with_maintenance(service, operation, phase="STARTED")
    service.respond("GET", "/v1/groups/web", a_group("web", **group))
    lines = lines_of(run(f"vm {operation} web-0{YES.get(operation, '')}"))
    assert said in " ".join(" ".join(lines).split())


@pytest.mark.parametrize(
    ("operation", "said"),
    [
        (
            "restart",
            "group web auto-approves restarts, so web-0 is restarted immediately",
        ),
        (
            "redeploy",
            "group web auto-approves redeployments, so web-0 is redeployed immediately",
        ),
    ],
)
def test_policy_approval_is_reported(
    service: Service, operation: str, said: str, run: Cli
) -> None:
    approved = an_event(approved_via="policy", approved_at="2026-01-01T12:00:00Z")
    respond_with_maintenance(service, operation, phase="STARTED", events=[approved])
    assert said in lines_of(run(f"vm {operation} web-0{YES.get(operation, '')}"))


def test_ignored_notice_is_reported(service: Service, run: Cli) -> None:
    respond_with_maintenance(service, "restart", phase="STARTED")
    service.respond("GET", "/v1/groups/web", a_group("web"))
    lines = lines_of(run("vm restart web-0 --notice 1h"))
    message = "web-0 is restarted immediately, even though notice was requested"
    assert message in " ".join(" ".join(lines).split())


@pytest.mark.parametrize("phase", ["SCHEDULED", "STARTED"])
def test_deleted_vm_is_reported_to_leave_the_fleet(
    service: Service, phase: str, run: Cli
) -> None:
    respond_with_maintenance(service, "delete", phase=phase)
    service.respond("GET", "/v1/groups/web", a_group("web"))
    shown = lines_of(run("vm delete web-0 --yes"))
    assert "web-0 then leaves the fleet" in shown


@pytest.mark.parametrize(
    ("own", "of_group", "said"),
    [
        (None, None, "web-0 then leaves the fleet"),
        ("delete", "deallocate", "web-0 then leaves the fleet"),
        (None, "deallocate", "web-0 then stays in the fleet as deallocated"),
        (
            "deallocate",
            None,
            "to mark it as running again, run `forewarn vm start web-0`",
        ),
    ],
)
def test_eviction_reports_what_happens_to_the_vm(
    service: Service, own: str | None, of_group: str | None, said: str, run: Cli
) -> None:
    respond_with_maintenance(service, "evict", type="Preempt")
    vm = a_vm("web-0", group="web", eviction_policy=own)
    service.respond("GET", "/v1/vms/web-0", vm)
    service.respond("GET", "/v1/groups/web", a_group("web", eviction_policy=of_group))
    assert said in " ".join(" ".join(lines_of(run("vm evict web-0"))).split())


def test_evicted_vm_may_be_gone_before_the_output_is_complete(
    service: Service, run: Cli
) -> None:
    respond_with_maintenance(service, "evict", type="Preempt")
    service.refuse("GET", "/v1/vms/web-0", 404, "VM 'web-0' not found")
    service.respond("GET", "/v1/groups/web", a_group("web"))
    shown = lines_of(run("vm evict web-0"))
    assert "web-0 then leaves the fleet" in [line.strip() for line in shown]


def test_start_reports_that_the_vm_is_running(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/vms/web-0/start", a_vm("web-0"))
    assert run("vm start web-0") == "web-0 is marked as running\n"


def test_vm_and_group_may_be_gone_before_the_output_is_complete(
    service: Service, run: Cli
) -> None:
    respond_with_maintenance(service, "delete", phase="STARTED")
    service.refuse("GET", "/v1/groups/web", 404, "group 'web' not found")
    reason = "only scale sets support terminate notice, so web-0 is deleted immediately"
    assert reason in lines_of(run("vm delete web-0 --yes"))


def test_every_option_reaches_the_service(service: Service, run: Cli) -> None:
    respond_with_maintenance(service, "reimage")
    run(
        "vm reimage web-0 --not-before 2026-01-01T13:00:00Z --duration 90s"
        " --description text --reason why --source PLATFORM --json"
    )
    assert service.only("POST").body == {
        "not_before": "2026-01-01T13:00:00+00:00",
        "duration_seconds": 90,
        "description": "text",
        "reason": "why",
        "source": "Platform",
    }


def test_omitted_options_are_left_to_the_service(service: Service, run: Cli) -> None:
    respond_with_maintenance(service, "evict")
    run("vm evict web-0 --json")
    assert service.only("POST").body == {}


def test_json_is_the_response_of_the_service(service: Service, run: Cli) -> None:
    answer = respond_with_maintenance(service, "restart", phase="STARTED")
    assert json.loads(run("vm restart web-0 --json")) == answer


def test_refusal_is_shown(service: Service, run: Cli) -> None:
    sentence = "web-0 is not a spot VM; only spot VMs can be evicted"
    service.refuse("POST", "/v1/vms/web-0/evict", 409, sentence)
    assert run("vm evict web-0", code=1) == f"forewarn: {sentence}\n"


def test_name_is_escaped_in_the_path(service: Service, run: Cli) -> None:
    run("vm restart ../hosts/a", code=1)
    assert service.requests[0].path == "/v1/vms/..%2Fhosts%2Fa/restart"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("restart", "missing NAME"),
        ("explode web-0", "unknown command"),
        ("restart web-0 --source user", "unknown option"),
        (
            "restart web-0 --notice 1m --not-before 2026-01-01T12:00Z",
            "cannot be used together",
        ),
        ("delete web-0 --notice soon", "not a duration"),
    ],
)
def test_wrong_usage_sends_no_request(
    service: Service, words: str, said: str, run: Cli
) -> None:
    assert said in run(f"vm {words}", code=2)
    assert service.requests == []


# --- several VMs -------------------------------------------------------------


def test_several_vms_are_checked_before_the_first_is_restarted(
    service: Service, run: Cli, capsys: pytest.CaptureFixture[str]
) -> None:
    respond_with_maintenance(service, "restart")
    service.refuse("POST", "/v1/vms/web-9/restart", 404, "VM web-9 not found")
    service.refuse("POST", "/v1/vms/web-8/restart", 404, "VM web-8 not found")
    assert run("vm restart web-0 web-9 web-8", code=1) == (
        "forewarn: VM web-9 not found\n"
        "forewarn: VM web-8 not found\n"
        "forewarn: nothing was changed\n"
    )
    posts = [each for each in service.requests if each.method == "POST"]
    assert {tuple(each.query) for each in posts} == {(("dry_run", "true"),)}


def test_failure_midway_lists_what_was_done(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("a", "b", "c"):
        path = f"/v1/vms/{name}/start"
        service.respond("POST", path, {"maintenances": [], "effects": []})
        if name == "b":
            service.refuse("POST", path, 503, "the disk is full")
        else:
            service.respond("POST", path, a_vm(name))
    assert main.main(["vm", "start", "a", "b", "c"]) == 1
    captured = capsys.readouterr()
    assert captured.out == "a is marked as running\n"
    assert captured.err == (
        "forewarn: the disk is full\nforewarn: done: a; failed: b; not attempted: c\n"
    )


def test_announcements_of_several_vms_are_printed_together(
    service: Service, run: Cli
) -> None:
    for name in ("web-0", "web-1"):
        maintenance = a_maintenance(vms=[name])
        path = f"/v1/vms/{name}/restart"
        service.respond("POST", path, {"maintenances": [], "effects": []})
        service.respond("POST", path, {"maintenances": [maintenance]}, 201)
    lines = lines_of(run("vm restart web-0 web-1"))
    assert [line for line in lines if line.startswith("announced")] == [
        "announced (1 of 2): Reboot of web-0",
        "announced (2 of 2): Reboot of web-1",
    ]
    assert lines.count("next:") == 1


def test_dry_run_shows_the_effects_of_all_vms(service: Service, run: Cli) -> None:
    for name in ("a", "b"):
        effect = {"fact": "FleetChanged", "maintenance": None, "text": f"would {name}"}
        plan = {"maintenances": [], "explained": [], "effects": [effect]}
        service.respond("POST", f"/v1/vms/{name}/delete", plan)
    assert run("vm delete a b --dry-run") == "would a\nwould b\n"


def test_dry_run_reports_all_refusals(service: Service, run: Cli) -> None:
    for name in ("a", "b"):
        service.refuse("POST", f"/v1/vms/{name}/restart", 404, f"VM {name} not found")
    assert run("vm restart a b --dry-run", code=1) == (
        "forewarn: VM a not found\nforewarn: VM b not found\n"
        "forewarn: nothing was changed\n"
    )
    assert run("vm restart a --dry-run", code=1) == "forewarn: VM a not found\n"
