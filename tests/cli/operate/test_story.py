"""Tests of `forewarn maintenance explain`, and of the story that `show` prints."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import M1, Json, a_maintenance, an_event
from tests.cli.support.service import Service

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]
PATH = f"/v1/maintenances/{M1}"


def an_explanation(summary: str, *waits: Json) -> Json:
    return {
        "phase": "SCHEDULED",
        "due": False,
        "summary": summary,
        "waits": [*waits],
        "starts_at_latest": "2026-01-01T12:15:00Z",
        "hint": None,
    }


def a_story(*entries: tuple[str, str], sentences: tuple[str, ...] = ()) -> Json:
    return {
        "notice_given_seconds": 900,
        "notice_used_seconds": None,
        "entries": [{"at": at, "what": what} for at, what in entries],
        "sentences": [*sentences],
    }


def test_explanation_lists_each_wait_with_what_unblocks_it(
    service: Service, run: Cli
) -> None:
    command = f"forewarn maintenance retry {M1}"
    wait: Json = {
        "text": "Waiting for the redeploy of rack1-node2 (web-1), which has been"
        " stuck.",
        "until": "2026-01-01T12:15:00Z",
        "unblocked_by": [
            {"text": "run the driver again", "command": command},
            {"text": "any VM in group web approves", "command": None},
        ],
    }
    explanation = an_explanation("Reboot of web-0 is blocked.", wait)
    service.respond("GET", f"{PATH}/explain", explanation)
    assert run(f"maintenance explain {M1}").splitlines() == [
        "Reboot of web-0 is blocked.",
        "- Waiting for the redeploy of rack1-node2 (web-1), which has been stuck. This",
        "  wait ends by 2026-01-01 12:15:00Z (in 15 min).",
        "    # run the driver again",
        f"    {command}",
        "    This wait ends when any VM in group web approves.",
        "The operation will start by 2026-01-01 12:15:00Z (in 15 min).",
    ]


def test_an_unknown_start_is_stated(service: Service, run: Cli) -> None:
    explanation = {**an_explanation("Blocked."), "starts_at_latest": None}
    service.respond("GET", f"{PATH}/explain", explanation)
    lines = run(f"maintenance explain {M1}").splitlines()
    assert lines == [
        "Blocked.",
        "The start time is unknown while the operation is blocked.",
    ]


def test_an_explanation_is_as_wide_as_the_terminal(
    service: Service, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    sentence = "word " * 20 + "end."
    service.respond("GET", f"{PATH}/explain", an_explanation(sentence))
    assert run(f"maintenance explain {M1}").splitlines()[0] == sentence


def test_json_of_an_explanation_is_the_response_of_the_service(
    service: Service, run: Cli
) -> None:
    explanation = an_explanation("It waits.")
    service.respond("GET", f"{PATH}/explain", explanation)
    assert json.loads(run(f"maintenance explain {M1} --json")) == explanation


def test_unknown_maintenance_cannot_be_explained(service: Service, run: Cli) -> None:
    service.refuse("GET", f"{PATH}/explain", 404, "maintenance not found")
    assert (
        run(f"maintenance explain {M1}", code=1) == "forewarn: maintenance not found\n"
    )


def test_story_shows_times_and_names_each_day(service: Service, run: Cli) -> None:
    service.respond("GET", PATH, a_maintenance())
    story = a_story(
        ("2026-01-01T23:59:58.500000Z", "announced by ops"),
        ("2026-01-02T00:00:00Z", "left, so not affected any longer:" + " web-0" * 8),
        ("2026-01-02T02:00:01+01:00", "started"),
        sentences=("Notice given: 15 min.", "Never approved by web."),
    )
    service.respond("GET", f"{PATH}/story", story)
    out = run(f"maintenance show {M1}")
    assert out.startswith("Reboot of web-0, web-1, SCHEDULED\n")
    assert out[out.index("2026-01-01 (UTC)") :].splitlines() == [
        "2026-01-01 (UTC)",
        "  23:59:58  announced by ops",
        "2026-01-02 (UTC)",
        "  00:00:00  left, so not affected any longer: web-0 web-0 web-0 web-0 web-0",
        "            web-0 web-0 web-0",
        "  01:00:01  started",
        "Notice given: 15 min.",
        "Never approved by web.",
    ]


def test_show_works_with_a_service_without_stories(service: Service, run: Cli) -> None:
    service.respond("GET", PATH, a_maintenance())
    service.refuse("GET", f"{PATH}/story", 404, "there is nothing here")
    assert run(f"maintenance show {M1}").endswith("  seen by    no VM yet\n")


def test_story_that_fails_is_an_error(service: Service, capsys: Capture) -> None:
    service.respond("GET", PATH, a_maintenance())
    service.refuse("GET", f"{PATH}/story", 503, "the store is away")
    assert main.main(["maintenance", "show", M1]) == 1
    assert capsys.readouterr().err == "forewarn: the store is away\n"


def test_json_of_show_is_only_the_maintenance(service: Service, run: Cli) -> None:
    service.respond("GET", PATH, a_maintenance())
    assert json.loads(run(f"maintenance show {M1} --json")) == a_maintenance()
    assert [request.path for request in service.requests] == [PATH]


@pytest.mark.parametrize(
    ("phase", "said"),
    [
        ("SCHEDULED", "  status     withdrawn: its VMs have left the fleet\n"),
        ("STARTED", "  approved   not needed\n"),
        ("CANCELED", "  status     no longer shown\n"),
    ],
)
def test_event_without_status_is_withdrawn_while_its_maintenance_lives(
    service: Service, phase: str, said: str, run: Cli
) -> None:
    maintenance = a_maintenance(phase=phase, events=[an_event(status=None)])
    service.respond("GET", PATH, maintenance)
    assert said in run(f"maintenance show {M1}")
