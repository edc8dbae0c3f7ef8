"""What a hook is told, whatever the service has said."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.hook_builders import SHOWN, a_call, an_event

from forewarn.agent import told
from forewarn.agent.calls import Call
from forewarn.agent.plan import Hook
from forewarn.protocol.types import ScheduledEvent

DRAIN = Hook(name="drain", command=("/usr/local/bin/drain",))
DEADLINE = datetime(2016, 9, 19, 18, 29, 42, tzinfo=UTC)

#: The names that scripts of another handler use.
KNOWN_ELSEWHERE = {
    "EVENT_ID": "7D4C0FBB-5A6E-4F9B-9A51-1D2C3B4A5968",
    "EVENT_SOURCE": "Platform",
    "EVENT_STATUS": "Scheduled",
    "EVENT_TYPE": "Reboot",
    "EVENT_NOTBEFORE": "Mon, 19 Sep 2016 18:29:47 GMT",
    "EVENT_RESOURCES": "web-0 web-1",
    "EVENT_RESOURCETYPE": "VirtualMachine",
}


def environment(
    call: Call | None = None,
    hook: Hook = DRAIN,
    own: Mapping[str, str] | None = None,
    tried: int = 1,
) -> dict[str, str]:
    return told.environment(call or a_call(), hook, own=own or {}, tried=tried)


# --- the environment ---------------------------------------------------------


def test_the_environment_tells_the_event_and_the_call() -> None:
    assert environment() == KNOWN_ELSEWHERE | {
        "FOREWARN_STEP": "prepare",
        "FOREWARN_EVENT_ID": "7D4C0FBB-5A6E-4F9B-9A51-1D2C3B4A5968",
        "FOREWARN_EVENT_TYPE": "Reboot",
        "FOREWARN_EVENT_STATUS": "Scheduled",
        "FOREWARN_EVENT_SOURCE": "Platform",
        "FOREWARN_EVENT_DESCRIPTION": "Host server is undergoing maintenance.",
        "FOREWARN_EVENT_DURATION": "9",
        "FOREWARN_NOT_BEFORE": "2016-09-19T18:29:47Z",
        "FOREWARN_RESOURCES": "web-0 web-1",
        "FOREWARN_NAME": "web-0",
        "FOREWARN_RULE": "reboots",
        "FOREWARN_HOOK": "drain",
        "FOREWARN_SECONDS_LEFT": "",
        "FOREWARN_REAL_SECONDS_LEFT": "",
        "FOREWARN_DEADLINE": "",
        "FOREWARN_TRY": "1",
        "FOREWARN_RUN": "run-1",
        "FOREWARN_ENDPOINT": "http://127.0.0.1:1",
    }


def test_what_the_service_does_not_tell_is_empty() -> None:
    event = ScheduledEvent(id="A", type="Reboot", status="Started", resources=())
    said = environment(a_call(replace(event, raw={"EventId": "A"})))
    unknown = ("SOURCE", "DESCRIPTION", "DURATION")
    assert [said[f"FOREWARN_EVENT_{name}"] for name in unknown] == ["", "", ""]
    assert (said["FOREWARN_NOT_BEFORE"], said["FOREWARN_RESOURCES"]) == ("", "")
    assert (said["EVENT_NOTBEFORE"], said["EVENT_RESOURCETYPE"]) == ("", "")


def test_a_moment_that_is_none_in_utc_is_not_told() -> None:
    event = an_event(NotBefore="9999-12-31T23:59:59-23:00")
    assert environment(a_call(event))["FOREWARN_NOT_BEFORE"] == ""


def test_a_hook_that_is_run_again_is_told_so() -> None:
    assert "FOREWARN_AGAIN" not in environment(a_call(times=1))
    assert environment(a_call(times=2))["FOREWARN_AGAIN"] == "1"


def test_the_try_is_told() -> None:
    assert environment(tried=3)["FOREWARN_TRY"] == "3"


@pytest.mark.parametrize(
    "name", ["FOREWARN_TOKEN", "FOREWARN_AGAIN", "NOTIFY_SOCKET", "WATCHDOG_USEC"]
)
def test_what_is_the_agents_alone_is_not_handed_on(name: str) -> None:
    assert name not in environment(own={name: "its own"})


def test_all_else_of_the_agents_environment_is_handed_on() -> None:
    said = environment(own={"PATH": "/bin", "EVENT_ID": "an old one", "X": "\udc80"})
    assert (said["PATH"], said["X"]) == ("/bin", "\udc80")
    assert said["EVENT_ID"] == KNOWN_ELSEWHERE["EVENT_ID"]


# --- the time left -----------------------------------------------------------


def time_told(call: Call, timeout: float | None = None) -> tuple[str, str, str]:
    said = environment(call, replace(DRAIN, timeout=timeout))
    return (
        said["FOREWARN_SECONDS_LEFT"],
        said["FOREWARN_REAL_SECONDS_LEFT"],
        said["FOREWARN_DEADLINE"],
    )


def an_hour_left(rate: float = 1.0) -> Call:
    return a_call(
        deadline=DEADLINE,
        seconds_left=lambda: 3600.9,
        wait_left=lambda: 3600.9 / rate if rate else None,
        rate=rate,
    )


def test_seconds_left_are_never_rounded_up() -> None:
    assert time_told(an_hour_left()) == ("3600", "3600.900", "2016-09-19T18:29:42Z")


def test_a_fast_clock_leaves_fewer_real_seconds() -> None:
    assert time_told(an_hour_left(60))[:2] == ("3600", "60.015")


def test_a_clock_that_is_moved_by_hand_tells_no_real_seconds() -> None:
    assert time_told(an_hour_left(0))[:2] == ("3600", "")


def test_a_hooks_own_time_is_told_if_it_is_shorter() -> None:
    shorter = time_told(an_hour_left(), timeout=600.9)
    assert shorter == ("600", "600.900", "2016-09-19T17:39:42Z")
    assert time_told(an_hour_left(), timeout=7200) == time_told(an_hour_left())


def test_a_hooks_own_time_is_the_services() -> None:
    assert time_told(an_hour_left(60), timeout=600)[:2] == ("600", "10.000")
    assert time_told(a_call(rate=60), timeout=600) == ("600", "10.000", "")


def test_time_that_has_passed_is_nought() -> None:
    late = a_call(seconds_left=lambda: -3.0, wait_left=lambda: -3.0)
    assert time_told(late)[:2] == ("0", "0.000")


# --- hostile values ----------------------------------------------------------


def test_control_characters_are_spaces() -> None:
    event = an_event(Description="a\0b\nc\x1b[31md\u2028e")
    said = environment(a_call(event))["FOREWARN_EVENT_DESCRIPTION"]
    assert said == "a b c [31md e"


def test_a_long_value_is_cut_between_two_characters() -> None:
    said = environment(a_call(an_event(Description="€" * 100_000)))
    assert said["FOREWARN_EVENT_DESCRIPTION"] == "€" * math.floor(32_000 / 3)


def test_no_name_in_a_long_list_is_cut() -> None:
    names = [f"vm-{number}" for number in range(10_000)]
    said = environment(a_call(an_event(Resources=names)))["FOREWARN_RESOURCES"]
    assert 31_900 < len(said) <= 32_000
    assert said.split() == names[: len(said.split())]


@given(value=st.text(), resources=st.lists(st.text()))
def test_whatever_the_service_says_can_be_in_an_environment(
    value: str, resources: list[str]
) -> None:
    keys = ("EventId", "EventType", "EventStatus", "Description", "NotBefore")
    shown = dict.fromkeys((*keys, "EventSource", "ResourceType"), value)
    event = an_event(**shown, Resources=resources)
    for said in environment(a_call(event)).values():
        assert b"\0" not in said.encode()


# --- the input ---------------------------------------------------------------


def test_the_input_is_the_event_as_it_was_received() -> None:
    event = an_event(Surprise={"deep": [1, None]}, Resources=["a", 7])
    said = told.stdin(a_call(event))
    assert json.loads(said) == {
        **SHOWN,
        "Surprise": {"deep": [1, None]},
        "Resources": ["a", 7],
    }
    assert said.count(b"\n") == 1
    assert said.endswith(b"\n")


def test_half_a_character_in_the_event_is_told_as_it_came() -> None:
    said = told.stdin(a_call(an_event(Description="\ud800")))
    assert json.loads(said)["Description"] == "\ud800"


def test_an_event_of_which_only_the_meaning_is_known_is_told_as_it_would_be_shown() -> (
    None
):
    event = replace(an_event(), raw={})
    assert json.loads(told.stdin(a_call(event))) == SHOWN


def test_an_event_that_is_too_deep_to_be_written_is_told_without_its_depth() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    event = replace(an_event(), raw={**SHOWN, "Deep": deep})
    assert json.loads(told.stdin(a_call(event))) == SHOWN


# --- the page on it ----------------------------------------------------------


def test_the_page_on_hooks_names_every_variable_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/hooks.md").read_text()
    rows = re.findall(r"^\| `((?:FOREWARN|EVENT)_\w+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(environment(a_call(times=2)))
