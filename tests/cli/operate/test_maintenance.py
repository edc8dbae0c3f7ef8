"""Tests of `forewarn maintenance`: lists, details, approvals and commands."""

import json
from collections.abc import Sequence
from functools import partial

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import (
    E1,
    E2,
    GUID,
    M1,
    M2,
    Json,
    a_maintenance,
    an_event,
    page,
)
from tests.cli.support.service import Service

from forewarn.cli import main
from forewarn.cli.output import watch_output

LIST = "/v1/maintenances"


def respond_with_list(service: Service, *maintenances: Json) -> None:
    service.set_clock("2026-01-01T12:30:00Z")
    service.respond("GET", LIST, page(*maintenances))


def posted(service: Service) -> Sequence[str]:
    """Return the paths of the requests that were not dry runs."""
    return [
        request.path
        for request in service.requests
        if request.method == "POST" and ("dry_run", "true") not in request.query
    ]


# --- list --------------------------------------------------------------------

APPROVED = an_event(approved_by="web-0", approved_at="2026-01-01T12:02:00Z")
OF_DB = an_event(id=E2, group="db", resources=["db-0"])
STARTED: Json = {"phase": "STARTED", "started_at": "2026-01-01T12:15:00Z"}

#: One operation in each state, as the service returns them.
EVERY_STATE = (
    a_maintenance(not_before="2026-01-01T12:45:00Z", events=[APPROVED, OF_DB]),
    a_maintenance(
        id="m-2",
        type="Redeploy",
        cause="degraded",
        host="rack-2",
        not_before="2026-01-08T12:00:00Z",
        vms=[f"production-web-{number}" for number in range(9)],
    ),
    a_maintenance(id="m-3", phase="SCHEDULED", not_before=None),
    a_maintenance(id="m-4", type="Freeze", **STARTED),
    a_maintenance(id="m-5", **STARTED, stuck_since="2026-01-01T12:18:00Z"),
    a_maintenance(id="m-16", phase="COMPLETED", ended_at="2026-01-01T09:30:00Z"),
    a_maintenance(id="m-17", phase="CANCELED", ended_at="2025-12-20T12:30:00Z"),
    a_maintenance(
        id="m-118",
        type="Terminate",
        cause="operation",
        reason="ticket 7",
        **{**STARTED, "phase": "FAILED", "ended_at": "2026-01-01T12:29:55Z"},
    ),
)

EVERY_LINE = """\
ID     TYPE       STATE             APPROVED  WHEN        AFFECTS
m-1    Reboot     scheduled         1/2       in 15 min   web-0, web-1
m-2    Redeploy   scheduled         0/1       in 7 d      rack-2 (production-we…
m-3    Reboot     scheduled         0/1       due         web-0, web-1
m-4    Freeze     started                     15 min ago  web-0, web-1
m-5    Reboot     stuck for 12 min            15 min ago  web-0, web-1
m-16   Reboot     completed                   3 h ago     web-0, web-1
m-17   Reboot     canceled                    12 d ago    web-0, web-1
m-118  Terminate  failed                      5 s ago     web-0, web-1
"""


def test_list_shows_every_state_in_80_columns(service: Service, run: Cli) -> None:
    respond_with_list(service, *EVERY_STATE)
    assert run("maintenance list --all") == EVERY_LINE


def test_wide_list_adds_times_groups_and_causes(service: Service, run: Cli) -> None:
    respond_with_list(service, EVERY_STATE[0], EVERY_STATE[-1])
    out = run("mnt ls --all -o wide")
    assert [line.split("  ")[-1] for line in out.splitlines()] == [
        "REASON",
        "platform",
        "ticket 7",
    ]
    assert "  web, db  2026-01-01 12:45:00Z  platform\n" in out
    assert run("mnt ls --all -o wide --no-headers").startswith("m-1 ")


def test_list_is_printed_in_every_format(service: Service, run: Cli) -> None:
    respond_with_list(service, *EVERY_STATE[:2])
    assert run("maintenance list -o name") == "m-1\nm-2\n"
    assert json.loads(run("maintenance list -o json")) == [*EVERY_STATE[:2]]
    assert run("maintenance list -o yaml").startswith('- id: "m-1"\n  guid: "')
    assert run("maintenance list --no-headers").startswith("m-1  Reboot ")
    assert '"csv"' in run("maintenance list -o csv", code=2)


@pytest.mark.parametrize(
    ("options", "phases", "message"),
    [
        ("", ["SCHEDULED", "STARTED"], "no scheduled or started maintenance"),
        ("--all", [], "no maintenance"),
    ],
)
def test_only_live_operations_are_listed_unless_all_are_requested(
    service: Service, options: str, phases: list[str], message: str, run: Cli
) -> None:
    respond_with_list(service)
    assert run(f"maintenance list {options}") == f"{message} operations\n"
    [query] = [request.query for request in service.requests]
    assert [value for name, value in query if name == "phase"] == phases


@pytest.mark.parametrize(
    ("options", "ids"),
    [
        ("--vm WEB-1", ["m-1"]),
        ("--host Rack-2", ["m-2"]),
        ("--group db,web", ["m-1", "m-2"]),
        ("--group db --vm web-0", ["m-1"]),
        ("--group db --host rack-2", []),
    ],
)
def test_list_is_filtered_by_what_operations_affect(
    service: Service, options: str, ids: list[str], run: Cli
) -> None:
    respond_with_list(service, *EVERY_STATE[:2])
    for noun in ("vms/web-0", "groups/db", "hosts/rack-2"):
        service.respond("GET", f"/v1/{noun}", {})
    assert run(f"maintenance list {options} -o name").split() == ids


@pytest.mark.parametrize("noun", ["vm", "host", "group"])
def test_unknown_name_in_a_filter_is_an_error(
    service: Service, noun: str, run: Cli
) -> None:
    respond_with_list(service, EVERY_STATE[0])
    service.refuse("GET", f"/v1/{noun}s/web-9", 404, f"{noun} web-9 not found")
    assert run(f"maintenance list --{noun} web-9", code=1) == (
        f"forewarn: {noun} web-9 not found\n"
    )


def test_watched_list_is_printed_again_only_when_it_changes(
    service: Service, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    changed = [EVERY_STATE[0], *([{**EVERY_STATE[0], "phase": "STARTED"}] * 2)]
    service.replies.clear()
    for state in changed:
        respond_with_list(service, state)
    pauses = iter((None, None))

    def pause(seconds: float) -> None:
        if next(pauses, StopIteration) is StopIteration:
            raise KeyboardInterrupt

    monkeypatch.setattr(main, "watch_output", partial(watch_output, pause=pause))
    out = run("maintenance list --watch --no-headers", code=130)
    assert [line.split()[:3] for line in out.splitlines()] == [
        ["m-1", "Reboot", "scheduled"],
        ["m-1", "Reboot", "started"],
    ]


# --- show --------------------------------------------------------------------


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
        "  id           m-1\n"
        f"  GUID         {GUID}\n"
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


def test_show_and_explain_choose_the_operation_if_there_is_one(
    service: Service, run: Cli
) -> None:
    respond_with_list(service, EVERY_STATE[0])
    service.respond("GET", f"{LIST}/m-1", EVERY_STATE[0])
    service.respond("GET", f"{LIST}/m-1/explain", {"summary": "Waiting."})
    assert run("maintenance show").startswith("Reboot of web-0, web-1, SCHEDULED\n")
    assert run("maintenance explain") == "Waiting.\n"


def test_stuck_operation_is_chosen_from_several(service: Service, run: Cli) -> None:
    respond_with_list(service, *EVERY_STATE[:5])
    service.respond("GET", f"{LIST}/m-5/explain", {"summary": "Stuck."})
    assert run("maintenance explain") == "Stuck.\n"


@pytest.mark.parametrize("command", ["show", "explain", "wait"])
def test_id_is_required_if_the_choice_is_not_clear(
    service: Service, command: str, run: Cli
) -> None:
    respond_with_list(service)
    respond_with_list(service, *EVERY_STATE[:4])
    assert run(f"maintenance {command}", code=1) == (
        "forewarn: no scheduled or started maintenance operations\n"
    )
    assert run(f"maintenance {command}", code=2) == (
        "forewarn: specify one of 4 scheduled or started operations (m-1, m-2, m-3,"
        " m-4); `forewarn maintenance list` lists them\n"
    )


@pytest.mark.parametrize("line", ["maintenance cancel ''", "events approve ' '"])
def test_empty_id_is_wrong_usage(service: Service, line: str, run: Cli) -> None:
    assert run(line, code=2) == "forewarn: a name or an ID is empty\n"
    assert service.requests == []


def test_id_is_escaped_in_the_path(service: Service, run: Cli) -> None:
    run("maintenance show", "../clock?x", code=1)
    assert service.requests[0].path == "/v1/maintenances/..%2Fclock%3Fx"


# --- approve -----------------------------------------------------------------


@pytest.mark.parametrize("any_id", [E2, E2.lower(), E2[:8], "db-0", "DB-0"])
def test_event_is_approved_alone_by_its_id_or_vm(
    service: Service, any_id: str, run: Cli
) -> None:
    maintenance = a_maintenance(events=[APPROVED, OF_DB])
    for name in (any_id, M1):
        service.respond("GET", f"{LIST}/{name}", maintenance)
    service.respond("POST", f"/v1/events/{E2}/approve", OF_DB)
    assert run(f"maintenance approve {any_id}") == (
        f"approved: event {E2} for group db\n"
        "m-1 (Reboot of web-0, web-1) is SCHEDULED; 1 of 2 events is not approved yet\n"
    )
    assert posted(service) == [f"/v1/events/{E2}/approve"]


def test_a_maintenance_is_approved_with_all_its_visible_events(
    service: Service, run: Cli
) -> None:
    gone = an_event(id="4E", status=None)
    before = a_maintenance(events=[an_event(), gone, OF_DB])
    for state in (before, before, a_maintenance(**STARTED)):
        service.respond("GET", f"{LIST}/{M1}", state)
    service.respond("POST", f"/v1/events/{E1}/approve", an_event())
    service.respond("POST", f"/v1/events/{E2}/approve", OF_DB)
    assert run(f"maintenance approve {M1}") == (
        f"approved: event {E1} for group web\n"
        f"approved: event {E2} for group db\n"
        "m-1 (Reboot of web-0, web-1) is STARTED\n"
    )
    assert posted(service) == [f"/v1/events/{id_}/approve" for id_ in (E1, E2)]


def test_approving_finished_maintenance_is_refused_by_the_service(
    service: Service, run: Cli
) -> None:
    over = a_maintenance(phase="COMPLETED", events=[an_event(status=None)])
    service.respond("GET", f"{LIST}/{M1}", over)
    service.refuse("POST", f"/v1/events/{E1}/approve", 409, f"{M1} is COMPLETED")
    assert run(f"maintenance approve {M1}", code=1) == f"forewarn: {M1} is COMPLETED\n"


def test_json_of_an_approval_is_a_list_of_events(service: Service, run: Cli) -> None:
    service.respond("GET", f"{LIST}/{M1}", a_maintenance())
    service.respond("POST", f"/v1/events/{E1}/approve", an_event())
    assert json.loads(run(f"maintenance approve {M1} --json")) == [an_event()]


# --- cancel, complete, retry, close ------------------------------------------


@pytest.mark.parametrize(
    ("verb", "phase"),
    [("cancel", "CANCELED"), ("complete", "COMPLETED"), ("close", "FAILED")],
)
def test_a_maintenance_is_changed(
    service: Service, verb: str, phase: str, run: Cli
) -> None:
    service.respond("GET", f"{LIST}/web-0", a_maintenance())
    service.respond("POST", f"{LIST}/{M1}/{verb}", a_maintenance(phase=phase))
    assert run(f"maintenance {verb} web-0") == (
        f"m-1 (Reboot of web-0, web-1) is {phase}\n"
    )
    assert service.requests[0].query == [("command", verb)]
    assert service.only("POST").body == {}


def test_complete_explains_why_the_operation_has_not_ended(
    service: Service, run: Cli
) -> None:
    service.respond("GET", f"{LIST}/{M1}", a_maintenance(**STARTED))
    service.respond("POST", f"{LIST}/{M1}/complete", a_maintenance(**STARTED))
    assert run("maintenance complete m-1") == (
        "m-1 (Reboot of web-0, web-1) is marked as done; it ends when its events have\n"
        "    been shown for the minimum time\n"
    )


def test_retry_shows_how_to_wait_for_its_result(service: Service, run: Cli) -> None:
    service.respond("GET", f"{LIST}/{M1}", a_maintenance(**STARTED))
    service.respond("POST", f"{LIST}/{M1}/retry", a_maintenance(**STARTED))
    out = run("maintenance retry m-1")
    assert "the driver is running again" in out
    assert "`forewarn maintenance wait m-1`" in out


@pytest.mark.parametrize("verb", ["cancel", "close"])
def test_reason_is_sent_to_the_service(service: Service, verb: str, run: Cli) -> None:
    service.respond("GET", f"{LIST}/{M1}", a_maintenance())
    service.respond("POST", f"{LIST}/{M1}/{verb}", a_maintenance(phase="FAILED"))
    run(f"maintenance {verb} {M1} --reason 'wrong host' --json")
    assert service.only("POST").body == {"reason": "wrong host"}


# --- several operations ------------------------------------------------------


def respond_to_cancel(service: Service, *labels: str) -> None:
    for label in labels:
        canceled = a_maintenance(id=label, phase="CANCELED")
        service.respond("GET", f"{LIST}/{label}", a_maintenance(id=label))
        service.respond("POST", f"{LIST}/{label}/cancel", canceled)


def test_several_operations_are_changed_each_once(service: Service, run: Cli) -> None:
    respond_to_cancel(service, "m-1", "m-2")
    service.respond("GET", f"{LIST}/{GUID}", a_maintenance())
    assert run(f"maintenance cancel m-1 m-2 {GUID} -o name") == "m-1\nm-2\n"
    paths = [f"{LIST}/{label}/cancel" for label in ("m-1", "m-2")]
    assert posted(service) == paths


def test_nothing_changes_if_one_of_several_is_unknown(
    service: Service, run: Cli
) -> None:
    respond_to_cancel(service, "m-1")
    for label in ("m-8", "m-9"):
        service.refuse("GET", f"{LIST}/{label}", 404, f"{label} not found")
    assert run("maintenance cancel m-8 m-1 m-9", code=1) == (
        "forewarn: m-8 not found\nforewarn: m-9 not found\n"
        "forewarn: nothing was changed\n"
    )
    assert posted(service) == []


def test_nothing_changes_if_one_of_several_is_refused(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    respond_to_cancel(service, "m-1", "m-3")
    service.respond("GET", f"{LIST}/{M2}", a_maintenance(id=M2, **STARTED))
    service.refuse("POST", f"{LIST}/{M2}/cancel", 409, "m-2 has started")
    assert main.main(["maintenance", "cancel", "m-1", "m-2", "m-3"]) == 1
    assert capsys.readouterr().err == (
        "forewarn: m-2 has started\nforewarn: nothing was changed\n"
    )
    assert posted(service) == []


@pytest.mark.parametrize(
    ("options", "shown"),
    [("", "m-1 (Reboot of web-0, web-1) is CANCELED\n"), ("-o name", "m-1\n")],
)
def test_changes_before_an_unexpected_failure_are_shown(
    service: Service, options: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    respond_to_cancel(service, "m-1", "m-2", "m-3")  # m-2 starts after the dry run
    service.refuse("POST", f"{LIST}/{M2}/cancel", 409, "m-2 has started")
    assert main.main(["maintenance", "cancel", *options.split(), "m-1", M2, "m-3"]) == 1
    out, err = capsys.readouterr()
    assert out == shown
    assert "done: m-1; failed: m-2; not attempted: m-3" in err
