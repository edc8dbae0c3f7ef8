"""Tests of `forewarn host`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import M1, Json, a_maintenance, an_event
from tests.cli.support.service import Service

#: Options of commands that would otherwise prompt for confirmation.
YES = {"failed": " --yes"}


def respond_with_maintenance(
    service: Service, command: str, *found: Json, status: int = 200
) -> Json:
    """Make the service respond about host-a at noon; status 201 if `found` are new."""
    answer: Json = {"maintenances": [*found]}
    service.respond("POST", f"/v1/hosts/host-a/{command}", answer, status)
    return answer


def of_host(**changed: object) -> Json:
    return a_maintenance(**{"host": "host-a", "vms": ["web-0"], **changed})


def on_one_line(text: str) -> str:
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def test_planned_maintenance_is_printed_as_an_announcement(
    service: Service, run: Cli
) -> None:
    respond_with_maintenance(service, "maintain", of_host(), status=201)
    out = on_one_line(run("host maintain host-a --type reboot"))
    assert out.startswith(f"announced: Reboot of host-a (web-0) id {M1} starts by")
    assert f"forewarn maintenance cancel {M1}" in out


@pytest.mark.parametrize(
    ("command", "phase"), [("degraded", "SCHEDULED"), ("failed", "STARTED")]
)
def test_host_problem_suggests_recovery_as_the_next_command(
    service: Service, command: str, phase: str, run: Cli
) -> None:
    cause = {"degraded": "degraded", "failed": "host-failure"}[command]
    maintenance = of_host(cause=cause, phase=phase)
    respond_with_maintenance(service, command, maintenance, status=201)
    out = on_one_line(run(f"host {command} host-a{YES.get(command, '')}"))
    assert "next:" in out
    assert "forewarn host recovered host-a" in out
    assert "cancel" not in out
    assert "complete" not in out


def test_each_group_of_a_degraded_host_is_listed_with_its_own_approval(
    service: Service, run: Cli
) -> None:
    found = [
        of_host(vms=[vm], cause="degraded", events=[an_event(group=group)])
        for vm, group in (("db-0", "db"), ("web-0", "web"))
    ]
    respond_with_maintenance(service, "degraded", *found, status=201)
    out = on_one_line(run("host degraded host-a"))
    assert "announced (2 of 2): Reboot of host-a (web-0)" in out
    for group in ("db", "web"):
        assert f"earlier if {group} approves, later if blocked" in out
    assert "forewarn vm redeploy db-0" in out


@pytest.mark.parametrize("command", ["maintain", "degraded", "failed"])
def test_maintenance_of_an_empty_host_creates_no_event(
    service: Service, command: str, run: Cli
) -> None:
    respond_with_maintenance(service, command)
    message = "host-a has no VMs, so no group was notified\n"
    assert run(f"host {command} host-a{YES.get(command, '')}") == message


@pytest.mark.parametrize(
    ("command", "found", "said"),
    [
        (
            "degraded",
            of_host(),
            "no change: Reboot of host-a (web-0) is already SCHEDULED,"
            f" not before 2026-01-01 12:15:00Z (in 15 min) ({M1})",
        ),
        (
            "failed",
            of_host(phase="STARTED", started_at="2026-01-01T11:50:00Z"),
            "no change: Reboot of host-a (web-0) started at"
            f" 2026-01-01 11:50:00Z (10 min ago) ({M1})",
        ),
        (
            "failed",
            of_host(phase="CANCELED"),
            f"canceled: Reboot of host-a (web-0) ({M1})",
        ),
        (
            "recovered",
            of_host(phase="CANCELED", cause="degraded"),
            f"canceled: Reboot of host-a (web-0) ({M1})",
        ),
        (
            "recovered",
            of_host(phase="COMPLETED", cause="host-failure"),
            f"completed: Reboot of host-a (web-0) ({M1})",
        ),
        (
            "recovered",
            of_host(phase="STARTED", cause="host-failure"),
            f"ending after its minimum display time: Reboot of host-a (web-0) ({M1})",
        ),
        (
            "recovered",
            of_host(phase="STARTED", cause="platform"),
            f"started: Reboot of host-a (web-0) ({M1})",
        ),
    ],
)
def test_command_without_announcements_reports_existing_maintenance(
    service: Service, command: str, found: Json, said: str, run: Cli
) -> None:
    respond_with_maintenance(service, command, found)
    assert on_one_line(run(f"host {command} host-a{YES.get(command, '')}")) == said


def test_recovery_of_a_healthy_host_does_nothing(service: Service, run: Cli) -> None:
    respond_with_maintenance(service, "recovered")
    message = "nothing to do: host-a is neither degraded nor failed\n"
    assert run("host recovered host-a") == message


def test_every_option_of_a_maintenance_reaches_the_service(
    service: Service, run: Cli
) -> None:
    respond_with_maintenance(service, "maintain", status=201)
    run(
        "host maintain host-a --type Redeploy --notice 5m --duration 1h"
        " --description text --live-migration --reason why --emergency"
        " --ignore-blockers --json --yes"
    )
    assert service.only("POST").body == {
        "type": "Redeploy",
        "notice_seconds": 300,
        "duration_seconds": 3600,
        "description": "text",
        "live_migration": True,
        "reason": "why",
        "emergency": True,
        "ignore_blockers": True,
    }


@pytest.mark.parametrize(
    ("words", "body"),
    [
        ("failed host-a --duration 1h", {"duration_seconds": 3600}),
        ("failed host-a --description text", {"description": "text"}),
        ("recovered host-a --reason why", {"reason": "why"}),
        ("degraded host-a --description text --reason why",
         {"description": "text", "reason": "why"}),
        ("degraded host-a --fails-by 2026-01-02T01:00:00+01:00",
         {"fails_by": "2026-01-02T00:00:00+00:00"}),
        ("degraded host-a --fails-by 3d",
         {"fails_by": "2026-01-04T12:00:00+00:00"}),
    ],
)  # fmt: skip
def test_details_of_a_host_reach_the_service(
    service: Service, words: str, body: Json, run: Cli
) -> None:
    respond_with_maintenance(service, words.split()[0])
    run(f"host {words}{YES.get(words.split()[0], '')}")
    assert service.only("POST").body == body


def test_json_is_the_response_of_the_service(service: Service, run: Cli) -> None:
    answer = respond_with_maintenance(service, "recovered", of_host(phase="CANCELED"))
    assert json.loads(run("host recovered host-a --json")) == answer


def test_dry_run_shows_what_would_be_announced_and_canceled(
    service: Service, run: Cli
) -> None:
    effect = {"fact": "Canceled", "maintenance": "m-3", "text": "would cancel m-3"}
    plan = {"maintenances": [], "explained": [], "effects": [effect]}
    service.respond("POST", "/v1/hosts/host-a/failed", plan)
    assert run("host failed host-a --dry-run") == "would cancel m-3\n"
    assert service.only("POST").query == [("dry_run", "true")]


def test_dry_run_without_effects_prints_a_message(service: Service, run: Cli) -> None:
    plan: Json = {"maintenances": [], "explained": [], "effects": []}
    service.respond("POST", "/v1/hosts/host-a/recovered", plan)
    assert run("host recovered host-a --dry-run") == "nothing would change\n"


def test_hosts_are_reported_one_after_the_other(service: Service, run: Cli) -> None:
    for host in ("host-a", "host-b"):
        service.respond("POST", f"/v1/hosts/{host}/recovered", {"maintenances": []})
    assert run("host recovered host-a host-b HOST-A") == (
        "nothing to do: host-a is neither degraded nor failed\n"
        "nothing to do: host-b is neither degraded nor failed\n"
    )
    # Each host twice, the clock, and the service's version.
    assert len(service.requests) == 6


def test_refusal_is_shown(service: Service, run: Cli) -> None:
    service.refuse("POST", "/v1/hosts/host-a/failed", 404, "host 'host-a' not found")
    assert (
        run("host failed host-a --yes", code=1) == "forewarn: host 'host-a' not found\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("maintain", "missing NAME"),
        ("maintain host-a --type preempt", 'one of "Freeze", "Reboot", "Redeploy"'),
        ("maintain host-a --emergency", "requires --reason"),
        ("maintain host-a --ignore-blockers", "--ignore-blockers requires --emergency"),
        (
            "maintain host-a --notice 1m --not-before 2026-01-01T12:00Z",
            "cannot be used together",
        ),
        ("degraded host-a --fails-by tomorrow", "not a duration"),
        ("degraded host-a --fails-by 2026-01-02T00:00", "has no time zone"),
        ("recovered host-a --duration 5m", "unknown option"),
    ],
)
def test_wrong_usage_sends_no_request(
    service: Service, words: str, said: str, run: Cli
) -> None:
    assert said in run(f"host {words}", code=2)
    assert service.requests == []


def test_time_out_of_range_is_wrong_usage(service: Service, run: Cli) -> None:
    assert "out of range" in run("host degraded host-a --fails-by 999999999d", code=2)
