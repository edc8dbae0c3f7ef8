"""Tests of `forewarn events`: the events that VMs see."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, E2, M1, an_event, page
from tests.cli.support.service import Service

SEEN = [{"vm": "web-1", "at": "2026-01-01T12:01:00Z"}]
BY_VM = {"approved_by": "web-0", "approved_at": "2026-01-01T12:02:00Z"}


def test_events_are_listed_with_their_operations(service: Service, run: Cli) -> None:
    events = [
        an_event(**BY_VM, seen_by=SEEN),
        an_event(id=E2, group="db", maintenance="m-12", status="Started"),
        an_event(id=f"{E2[:-1]}9", status=None, approved_at="2026-01-01T12:02:00Z"),
    ]
    service.respond("GET", "/v1/events", page(*events))
    assert run("events list").splitlines() == [
        f"{'ID':36}  GROUP  STATUS     APPROVED BY  OF",
        f"{E1}  web    Scheduled  web-0        m-1",
        f"{E2}  db     Started                 m-12",
        f"{E2[:-1]}9  web    gone       (automatic)  m-1",
    ]
    assert (
        run("ev ls --no-headers -o wide")
        .splitlines()[0]
        .endswith("  m-1   web-0, web-1  web-1")
    )
    assert run("events list -o name").split() == [event["id"] for event in events]
    assert json.loads(run("events list --json")) == events


@pytest.mark.parametrize(
    ("options", "phases", "message"),
    [
        ("", ["SCHEDULED", "STARTED"], "no scheduled or started events"),
        ("--all", [], "no events"),
    ],
)
def test_events_of_live_operations_are_listed_unless_all_are_requested(
    service: Service, options: str, phases: list[str], message: str, run: Cli
) -> None:
    service.respond("GET", "/v1/events", page())
    assert run(f"events list {options}") == f"{message}\n"
    [request] = service.requests
    assert [value for name, value in request.query if name == "phase"] == phases


def test_event_is_shown_with_its_operation(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T12:05:00Z")
    approved = an_event(**BY_VM, approved_via="metadata", seen_by=SEEN)
    service.respond("GET", "/v1/events/2c6d9e30", approved)
    assert run("events show 2c6d9e30") == (
        f"event {E1} of m-1 for group web\n"
        "  resources  web-0, web-1\n"
        "  status     Scheduled\n"
        "  approved   by web-0 via metadata, 2026-01-01 12:02:00Z (3 min ago)\n"
        "  seen by    web-1 (2026-01-01 12:01:00Z)\n"
    )


def test_event_is_approved(service: Service, run: Cli) -> None:
    service.respond("POST", f"/v1/events/{M1}/approve", an_event(**BY_VM))
    assert run("events approve m-1") == (f"approved: event {E1} of m-1 for group web\n")
    service.refuse("POST", "/v1/events/m-2/approve", 422, "m-2 identifies 2 events")
    assert run("events approve m-2", code=1) == "forewarn: m-2 identifies 2 events\n"


def test_former_subcommand_is_refused_with_its_new_name(run: Cli) -> None:
    for noun in ("events", "ev"):
        assert run(f"{noun} explain m-1", code=2) == (
            "forewarn: `forewarn events explain` is now called `forewarn maintenance"
            " explain`\n"
        )
