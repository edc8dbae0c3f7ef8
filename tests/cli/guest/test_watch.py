"""Tests of `forewarn watch` and `forewarn approve`, which run in a VM."""

import json
from collections.abc import Sequence

import pytest
from tests.client.support.service import EMPTY, a_service, hang_up, respond

from forewarn.cli import main
from forewarn.client import client as client_module
from forewarn.client import discovery
from forewarn.errors import Unreachable

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch

NOON = "Sat, 31 Jan 2026 12:00:00 GMT"


ID_1 = "2C6D9E30-74B5-4E8F-90A1-3D4C5E6F7081"
ID_2 = "3D7EAF41-85C6-4F90-A1B2-4E5D6F708192"
ID_3 = "2C6DFFFF-74B5-4E8F-90A1-3D4C5E6F7081"


def an_event(
    id: str = "E0", status: str = "Scheduled", vms: Sequence[str] = ("web-0",)
) -> dict[str, object]:
    return {
        "EventId": id,
        "EventStatus": status,
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": [*vms],
        "NotBefore": "Sat, 31 Jan 2026 12:15:00 GMT" if status == "Scheduled" else "",
        "Description": "Host server is undergoing maintenance.",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
    }


def a_document(*events: dict[str, object]) -> dict[str, object]:
    return {"DocumentIncarnation": 3, "Events": [*events]}


# --- watch -------------------------------------------------------------------


def test_events_are_shown_with_the_time_left(capsys: Capture) -> None:
    act = respond(a_document(an_event()), Date=NOON, Forewarn_Clock="manual")
    with a_service(act) as service:
        assert main.main(["watch", "--once", "--endpoint", service.url]) == 0
    assert capsys.readouterr().out == (
        "2026-01-31 12:00:00Z  appeared   E0  Reboot     Scheduled  web-0"
        "  not before 2026-01-31 12:15:00Z (in 15 min)"
        "  Host server is undergoing maintenance.\n"
    )


def test_a_service_cannot_move_the_cursor(capsys: Capture) -> None:
    event = {**an_event(), "Description": "\x1b[2J\r\nx"}
    with a_service(respond(a_document(event))) as service:
        assert main.main(["watch", "--once", "--endpoint", service.url]) == 0
    out = capsys.readouterr().out
    assert out.endswith("  [2J x\n")
    assert out.count("\n") == 1


def test_watch_without_events_prints_a_message(
    capsys: Capture, monkeypatch: Patch
) -> None:
    with a_service(respond(EMPTY, Date=NOON, Forewarn_Clock="manual")) as service:
        monkeypatch.setenv("FOREWARN_ENDPOINT", service.url)
        assert main.main(["watch", "--once"]) == 0
    assert capsys.readouterr().out == "2026-01-31 12:00:00Z  no events\n"


def test_changes_are_shown_until_a_permanent_refusal(capsys: Capture) -> None:
    acts = [
        respond(EMPTY),
        respond(a_document(an_event())),
        respond(a_document(an_event(status="Started"))),
        respond(EMPTY),
        respond({"error": "enough"}, 400),
    ]
    with a_service(*acts) as service:
        words = ["watch", "--poll", "0.01", "--endpoint", service.url]
        assert main.main(words) == 1
    captured = capsys.readouterr()
    shown = [line.split("  ")[1].strip() for line in captured.out.splitlines()]
    assert shown == ["no events", "appeared", "started", "completed"]
    assert "enough" in captured.err


def test_event_that_is_already_started_is_shown_once(capsys: Capture) -> None:
    with a_service(respond(a_document(an_event(status="Started")))) as service:
        assert main.main(["watch", "--once", "--endpoint", service.url]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_change_as_json_is_one_line_with_raw_events(capsys: Capture) -> None:
    act = respond(a_document(an_event()), Date=NOON, Forewarn_Clock="manual")
    with a_service(act) as service:
        assert main.main(["watch", "--once", "--json", "--endpoint", service.url]) == 0
    [line] = capsys.readouterr().out.splitlines()
    plain = json.loads(line)
    assert plain["appeared"] == plain["events"] == [an_event()]
    assert (plain["incarnation"], plain["seconds_left"]) == (3, {"E0": 900.0})
    assert plain["at"] == "2026-01-31T12:00:00+00:00"
    assert plain["completed"] == []


def test_unreachable_service_at_the_start_ends_the_command(capsys: Capture) -> None:
    assert main.main(["watch", "--endpoint", "http://127.0.0.1:1"]) == 1
    assert "http://127.0.0.1:1 refused the connection" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--endpoint", "https://x"], "plain HTTP"),
        (["--poll", "0"], "not a positive number"),
        (["--poll", "nan"], "not a positive number"),
        (["--poll", "x"], "not a positive number"),
    ],
)
def test_invalid_options_are_wrong_usage(
    words: list[str], why: str, capsys: Capture
) -> None:
    assert main.main(["watch", *words]) == 2
    assert why in capsys.readouterr().err


# --- approve -----------------------------------------------------------------


def test_whole_ids_are_approved_without_reading_the_document(capsys: Capture) -> None:
    with a_service(respond(b"")) as service:
        assert main.main(["approve", ID_1, ID_2, "--endpoint", service.url]) == 0
        assert json.loads(service.body()) == {
            "StartRequests": [{"EventId": ID_1}, {"EventId": ID_2}]
        }
        assert len(service.requests) == 1
    assert capsys.readouterr().out == f"approved {ID_1}\napproved {ID_2}\n"


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ([ID_1[:8]], [ID_1]),
        ([ID_2[:4].lower(), ID_1], [ID_1, ID_2]),
        (["--vm", "WEB-0"], [ID_1, ID_3]),
        (["--vm", "web-0,db-0"], [ID_1, ID_2, ID_3]),
        (["--vm", "web-9"], []),
    ],
)
def test_events_are_chosen_by_a_prefix_of_an_id_or_a_vm(
    capsys: Capture, words: list[str], ids: list[str]
) -> None:
    listed = a_document(
        an_event(ID_1),
        an_event(ID_2, vms=["db-0", "db-1"]),
        an_event(ID_3),
        an_event(ID_2[:8], "Started"),
    )
    with a_service(respond(listed), respond(b"")) as service:
        assert main.main(["approve", *words, "--json", "--endpoint", service.url]) == 0
        assert len(service.requests) == (2 if ids else 1)
    assert json.loads(capsys.readouterr().out) == {"approved": ids}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["9999"], "no scheduled event has an ID that starts with 9999"),
        ([ID_1, ID_1[:4]], f"{ID_1[:4]} is ambiguous: {ID_1}, {ID_3}"),
        ([""], "specify at least 4 characters of an event ID"),
    ],
)
def test_nothing_is_approved_if_an_id_is_unclear(
    capsys: Capture, words: list[str], message: str
) -> None:
    with a_service(respond(a_document(an_event(ID_1), an_event(ID_3)))) as service:
        assert main.main(["approve", *words, "--endpoint", service.url]) == 2
        assert len(service.requests) == 1
    assert capsys.readouterr() == ("", f"forewarn: {message}\n")


def test_only_events_that_wait_are_approved(capsys: Capture) -> None:
    listed = a_document(an_event("E0"), an_event("E1", "Started"), an_event("E2"))
    with a_service(respond(listed), respond(b"")) as service:
        words = ["approve", "--all", "--json", "--endpoint", service.url]
        assert main.main(words) == 0
        assert b"E1" not in service.body()
    assert json.loads(capsys.readouterr().out) == {"approved": ["E0", "E2"]}


def test_approve_without_waiting_events_prints_a_message(capsys: Capture) -> None:
    with a_service(respond(EMPTY)) as service:
        assert main.main(["approve", "--all", "--endpoint", service.url]) == 0
        assert len(service.requests) == 1
    assert capsys.readouterr().out == "no events to approve\n"


def test_refusal_of_the_service_is_shown(capsys: Capture) -> None:
    with a_service(respond({"error": "no such event"}, 400)) as service:
        assert main.main(["approve", ID_1, "--endpoint", service.url]) == 1
    assert "no such event" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [[], [ID_1, "--all"], ["--vm", "a", "--all"], [ID_1, "--vm", "a"]]
)
def test_either_ids_or_all_are_required(words: list[str], capsys: Capture) -> None:
    assert main.main(["approve", *words]) == 2
    assert "--all" in capsys.readouterr().err


def test_variable_for_listing_everything_approves_nothing(monkeypatch: Patch) -> None:
    monkeypatch.setenv("FOREWARN_ALL", "yes")
    assert main.main(["approve"]) == 2


def test_closed_connection_is_an_error(capsys: Capture) -> None:
    with a_service(hang_up) as service:
        assert main.main(["approve", "E0", "--endpoint", service.url]) == 1
    assert service.url in capsys.readouterr().err


# --- discovery ---------------------------------------------------------------


@pytest.fixture
def no_service(monkeypatch: Patch) -> None:
    """Make all addresses unreachable, whatever network this machine is in."""
    monkeypatch.setattr(client_module, "_responds", lambda candidate, **_: False)
    monkeypatch.delenv("SCHEDULEDEVENTSIP", raising=False)


@pytest.mark.parametrize("command", [["watch", "--once"], ["approve", "--all"]])
def test_discover_finds_the_announced_address(
    capsys: Capture, monkeypatch: Patch, no_service: None, command: list[str]
) -> None:
    with a_service(respond(EMPTY)) as service:
        monkeypatch.setattr(discovery, "_PORTS", (service.port,))
        monkeypatch.setattr(discovery, "query_dhcp", lambda *_: "127.0.0.1")
        monkeypatch.setattr(
            client_module, "_responds", lambda candidate, **_: candidate.port != 80
        )
        monkeypatch.setenv("FOREWARN_ENDPOINT", "http://127.0.0.1:1")  # typed wins
        assert main.main([*command, "--discover"]) == 0
        assert service.connections == 1
    assert f"found the metadata service at {service.url}" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["watch", "--once"], ["approve", "--all"]])
def test_a_failed_discovery_ends_with_the_reason(
    capsys: Capture, monkeypatch: Patch, no_service: None, command: list[str]
) -> None:
    def query(interface: str | None, seconds: float) -> str:
        raise Unreachable("no DHCP server responded on eth0; check that one does")

    monkeypatch.setattr(discovery, "query_dhcp", query)
    assert main.main([*command, "--discover"]) == 1
    assert capsys.readouterr() == (
        "",
        "forewarn: trying http://169.254.169.254\n"
        "forewarn: requesting the address via DHCP, for up to 15 s\n"
        "forewarn: no DHCP server responded on eth0; check that one does\n",
    )


@pytest.mark.parametrize("command", [["watch"], ["approve", "--all"], ["agent"]])
def test_discover_and_endpoint_exclude_each_other(
    capsys: Capture, command: list[str]
) -> None:
    typed = [*command, "--discover", "--endpoint", "http://127.0.0.1:1"]
    assert main.main(typed) == 2
    assert (
        "--endpoint: cannot be used together with --discover" in capsys.readouterr().err
    )
