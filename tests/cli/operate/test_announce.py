"""Tests of `forewarn announce`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import E1, E2, M1, M2, a_maintenance, an_event
from tests.cli.support.service import Service


def test_announcement_prints_what_happens_and_what_comes_next(
    service: Service, run: Cli
) -> None:
    maintenance = a_maintenance(
        host="host-a", events=[an_event(), an_event(id=E2, group="db")]
    )
    service.respond("POST", "/v1/maintenances", {"maintenances": [maintenance]}, 201)
    assert run("announce reboot --host host-a") == (
        "announced: Reboot of host-a (web-0, web-1)\n"
        f"  id           {M1}\n"
        "  starts       by 2026-01-01 12:15:00Z (in 15 min), earlier if all groups\n"
        "               approve, later if blocked\n"
        "  notified     web, db\n"
        f"  events       {E1} (web)\n"
        f"               {E2} (db)\n"
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
    out = run("announce freeze --vm web-0 --emergency --reason smoke --yes")
    assert "starts       immediately, without notice" in out
    assert "lasts        1 min 30 s" in out
    assert f"forewarn maintenance complete {M1}" in out
    assert "approve" not in out


def test_every_option_reaches_the_service(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    run(
        "announce FREEZE --vm web-0,web-1 --vm web-2 --not-before 2026-01-01T13:00:00Z"
        " --duration 9s --description text --source Platform --reason why"
        " --emergency --ignore-blockers --json --yes"
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


def test_dry_run_announces_nothing(service: Service, run: Cli) -> None:
    maintenance = a_maintenance(id=None, events=[an_event(id=None, maintenance=None)])
    waits = [
        {"kind": "time", "text": "its time"},
        {"kind": "blocker", "text": "others"},
    ]
    plan = {"maintenances": [maintenance], "explained": [{"waits": waits}]}
    service.respond("POST", "/v1/maintenances", plan)
    out = run("announce reboot --vm web-0 --dry-run")
    assert out.startswith("would be announced: Reboot of web-0, web-1\n  starts  ")
    assert "  blocked      others\n" in out
    assert "its time" not in out
    assert "next" not in out
    assert service.only("POST").query == [("dry_run", "true")]


def test_list_of_vms_does_not_take_the_next_word_and_has_no_duplicates(
    service: Service, run: Cli
) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    run("announce --vm web-0,web-1 --vm WEB-0 reboot")
    assert service.only("POST").body == {"type": "Reboot", "vms": ["web-0", "web-1"]}


def test_names_are_the_ids_of_the_announced_operations(
    service: Service, run: Cli
) -> None:
    maintenances = [a_maintenance(id="m-17"), a_maintenance(id="m-18")]
    service.respond("POST", "/v1/maintenances", {"maintenances": maintenances}, 201)
    assert run("announce reboot --group web -o name") == "m-17\nm-18\n"


def test_refusal_names_the_option_instead_of_the_field(
    service: Service, run: Cli
) -> None:
    detail = "a Reboot requires 15 minutes of notice; the earliest possible not_before"
    service.refuse("POST", "/v1/maintenances", 422, detail)
    message = run("announce reboot --vm web-0 --notice 1m", code=1)
    assert message.endswith("the earliest possible --not-before\n")


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
