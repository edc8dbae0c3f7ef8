"""Tests of `forewarn announce`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E2, M1, M2, a_maintenance, an_event
from tests.cli.support.service import Service


def test_announcement_prints_what_happens_and_what_comes_next(
    service: Service, run: Cli
) -> None:
    maintenance = a_maintenance(
        host="host-a", events=[an_event(), an_event(group="db")]
    )
    service.respond("POST", "/v1/maintenances", {"maintenances": [maintenance]}, 201)
    assert run("announce reboot --host host-a") == (
        "announced: Reboot of host-a (web-0, web-1)\n"
        f"  id           {M1}\n"
        "  starts       by 2026-01-01 12:15:00Z (in 15 min), earlier if all groups\n"
        "               approve, later if blocked\n"
        "  notified     web, db\n"
        "  source       Platform (platform)\n"
        "  description  Host server is undergoing maintenance.\n"
        "next:\n"
        f"  forewarn maintenance show {M1}\n"
        f"  forewarn maintenance explain {M1}\n"
        f"  forewarn maintenance approve {M1}\n"
        f"  forewarn maintenance cancel {M1}\n"
        "  forewarn journal --follow\n"
    )


def test_several_operations_are_printed_in_order(service: Service, run: Cli) -> None:
    first, second = a_maintenance(), a_maintenance(id=M2, vms=["web-2"])
    service.respond("POST", "/v1/maintenances", {"maintenances": [first, second]}, 201)
    out = run("announce reboot --group web")
    assert out.index("announced (1 of 2): Reboot of web-0, web-1") < out.index(
        "announced (2 of 2): Reboot of web-2"
    )


def test_immediate_start_is_not_offered_for_approval(
    service: Service, run: Cli
) -> None:
    maintenance = a_maintenance(phase="STARTED", duration_seconds=90)
    service.respond("POST", "/v1/maintenances", {"maintenances": [maintenance]}, 201)
    out = run("announce freeze --vm web-0 --emergency --reason smoke")
    assert "starts       immediately, without notice" in out
    assert "lasts        1 min 30 s" in out
    assert f"forewarn maintenance complete {M1}" in out
    assert "approve" not in out


def test_every_option_reaches_the_service(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    run(
        "announce FREEZE --vm web-0,web-1 --vm web-2 --not-before 2026-01-01T13:00:00Z"
        " --duration 9s --description text --source Platform --reason why"
        " --emergency --ignore-blockers --json"
    )
    assert service.only("POST").body == {
        "type": "Freeze",
        "vms": ["web-0", "web-1", "web-2"],
        "not_before": "2026-01-01T13:00:00+00:00",
        "duration_seconds": 9,
        "description": "text",
        "source": "Platform",
        "reason": "why",
        "emergency": True,
        "ignore_blockers": True,
    }


def test_omitted_options_are_left_to_the_service(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    run("announce reboot --host host-a --notice 20m --json")
    body = {"type": "Reboot", "host": "host-a", "notice_seconds": 1200}
    assert service.only("POST").body == body


def test_a_preview_announces_nothing(service: Service, run: Cli) -> None:
    maintenance = a_maintenance(id=None, events=[an_event(id=None, maintenance=None)])
    service.respond("POST", "/v1/maintenances/preview", {"maintenances": [maintenance]})
    out = run("announce reboot --vm web-0 --dry-run")
    assert out.startswith("would be announced: Reboot of web-0, web-1\n  starts  ")
    assert "next" not in out
    assert service.only("POST").path == "/v1/maintenances/preview"


def test_preview_lists_the_blockers_that_will_block(service: Service, run: Cli) -> None:
    maintenance = a_maintenance(id=None, events=[an_event(id=None, maintenance=None)])
    waits = [
        {"kind": "time", "text": "its time"},
        {"kind": "blocker", "text": "others"},
    ]
    preview = {"maintenances": [maintenance], "explained": [{"waits": waits}]}
    service.respond("POST", "/v1/maintenances/preview", preview)
    out = run("announce reboot --vm web-0 --dry-run")
    assert "  blocked      others\n" in out
    assert "its time" not in out


def test_json_is_the_response_of_the_service(service: Service, run: Cli) -> None:
    answer = {"maintenances": [a_maintenance(events=[an_event(id=E2)])]}
    service.respond("POST", "/v1/maintenances", answer, 201)
    assert json.loads(run("announce reboot --vm web-0 --json")) == answer


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("reboot", "--vm, --host, --group"),
        ("reboot --vm web-0 --host host-a", "cannot be used together"),
        ("explode --vm web-0", 'expected one of "Freeze", '),
        (
            "reboot --vm web-0 --notice 1m --not-before 2026-01-01T12:00Z",
            "cannot be used together",
        ),
        ("reboot --vm web-0 --not-before 2026-01-01T12:00", "has no time zone"),
        ("reboot --vm web-0 --source moon", 'expected one of "Platform", "User"'),
        ("reboot --vm web-0 --emergency", "requires --reason"),
        (
            "reboot --vm web-0 --ignore-blockers",
            "--ignore-blockers requires --emergency",
        ),
        ("reboot --vm web-0 --ignore-gates", "it is now called --ignore-blockers"),
    ],
)
def test_wrong_usage_sends_no_request(
    service: Service, words: str, said: str, run: Cli
) -> None:
    assert said in run(f"announce {words}", code=2)
    assert service.requests == []
