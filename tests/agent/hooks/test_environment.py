"""Hook environment and input, for any response of the service."""

import json
import math
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.support.hook_builders import SHOWN, a_call, an_event

from forewarn.agent.hooks.call import HookCall
from forewarn.agent.hooks.environment import hook_environment, hook_stdin
from forewarn.protocol.types import ScheduledEvent

#: Names used by the scripts of another handler.
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
    call: HookCall | None = None,
    own: Mapping[str, str] | None = None,
    tried: int = 1,
) -> dict[str, str]:
    return hook_environment(call or a_call(), own=own or {}, tried=tried)


# --- the environment ---------------------------------------------------------


def test_the_environment_describes_the_event_and_the_call() -> None:
    assert environment(an_hour_left()) == KNOWN_ELSEWHERE | {
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
        "FOREWARN_SECONDS_LEFT": "3600",
        "FOREWARN_REAL_SECONDS_LEFT": "3600.900",
        "FOREWARN_DEADLINE": "2016-09-19T18:29:42Z",
        "FOREWARN_TRY": "1",
        "FOREWARN_RUN": "run-1",
        "FOREWARN_ENDPOINT": "http://127.0.0.1:1",
    }


def test_missing_values_are_empty() -> None:
    event = ScheduledEvent(id="A", type="Reboot", status="Started", resources=())
    variables = environment(a_call(replace(event, raw={"EventId": "A"})))
    unknown = ("SOURCE", "DESCRIPTION", "DURATION")
    assert [variables[f"FOREWARN_EVENT_{name}"] for name in unknown] == ["", "", ""]
    assert (variables["FOREWARN_NOT_BEFORE"], variables["FOREWARN_RESOURCES"]) == (
        "",
        "",
    )
    assert (variables["EVENT_NOTBEFORE"], variables["EVENT_RESOURCETYPE"]) == ("", "")


def test_a_time_outside_the_range_of_utc_is_omitted() -> None:
    event = an_event(NotBefore="9999-12-31T23:59:59-23:00")
    assert environment(a_call(event))["FOREWARN_NOT_BEFORE"] == ""


def test_a_repeated_hook_is_marked() -> None:
    assert "FOREWARN_AGAIN" not in environment(a_call(times=1))
    assert environment(a_call(times=2))["FOREWARN_AGAIN"] == "1"


def test_the_try_is_included() -> None:
    assert environment(tried=3)["FOREWARN_TRY"] == "3"


@pytest.mark.parametrize(
    "name", ["FOREWARN_TOKEN", "FOREWARN_AGAIN", "NOTIFY_SOCKET", "WATCHDOG_USEC"]
)
def test_private_variables_of_the_agent_are_not_passed_on(name: str) -> None:
    assert name not in environment(own={name: "its own"})


def test_other_variables_of_the_agent_are_passed_on() -> None:
    variables = environment(
        own={"PATH": "/bin", "EVENT_ID": "an old one", "X": "\udc80"}
    )
    assert (variables["PATH"], variables["X"]) == ("/bin", "\udc80")
    assert variables["EVENT_ID"] == KNOWN_ELSEWHERE["EVENT_ID"]


# --- remaining time ----------------------------------------------------------


def time_variables(
    call: HookCall, timeout: float | None = None
) -> tuple[str, str, str]:
    hook = replace(call.hook, timeout=timeout)
    variables = environment(replace(call, hook=hook))
    return (
        variables["FOREWARN_SECONDS_LEFT"],
        variables["FOREWARN_REAL_SECONDS_LEFT"],
        variables["FOREWARN_DEADLINE"],
    )


def an_hour_left(rate: float = 1.0) -> HookCall:
    return a_call(left=3600.9, rate=rate, monotonic=lambda: 0.0)


def test_seconds_left_are_never_rounded_up() -> None:
    assert time_variables(an_hour_left()) == (
        "3600",
        "3600.900",
        "2016-09-19T18:29:42Z",
    )


def test_a_fast_clock_leaves_fewer_real_seconds() -> None:
    assert time_variables(an_hour_left(60))[:2] == ("3600", "60.015")


def test_a_manual_clock_has_no_real_seconds_left() -> None:
    assert time_variables(an_hour_left(0))[:2] == ("3600", "")


def test_the_hook_s_own_timeout_is_used_if_it_is_shorter() -> None:
    shorter = time_variables(an_hour_left(), timeout=600.9)
    assert shorter == ("600", "600.900", "2016-09-19T17:39:42Z")
    assert time_variables(an_hour_left(), timeout=7200) == time_variables(
        an_hour_left()
    )


def test_the_hook_s_own_timeout_uses_the_service_s_clock() -> None:
    assert time_variables(an_hour_left(60), timeout=600)[:2] == ("600", "10.000")
    assert time_variables(an_hour_left(0), timeout=600)[:2] == ("600", "600.000")


def test_past_time_is_zero() -> None:
    assert time_variables(a_call(left=-3))[:2] == ("0", "0.000")


# --- hostile values ----------------------------------------------------------


def test_control_characters_become_spaces() -> None:
    event = an_event(Description="a\0b\nc\x1b[31md\u2028e")
    description = environment(a_call(event))["FOREWARN_EVENT_DESCRIPTION"]
    assert description == "a b c [31md e"


@pytest.mark.parametrize(
    "event_id",
    ["../../etc/x", "..", "", "a/b", "-rf", "a b", "*", "x" * 101, "\ud800", "a\nb"],
)
def test_an_id_that_is_unsafe_as_a_file_name_is_replaced(event_id: str) -> None:
    call = a_call(an_event(EventId=event_id))
    variables = environment(call)
    assert re.fullmatch("sha256_[0-9a-f]{64}", variables["FOREWARN_EVENT_ID"])
    assert variables["EVENT_ID"] == variables["FOREWARN_EVENT_ID"]
    assert json.loads(hook_stdin(call))["EventId"] == event_id


def test_a_long_value_is_cut_between_two_characters() -> None:
    variables = environment(a_call(an_event(Description="€" * 100_000)))
    assert variables["FOREWARN_EVENT_DESCRIPTION"] == "€" * math.floor(32_000 / 3)


def test_a_long_list_is_cut_between_two_names() -> None:
    names = [f"vm-{number}" for number in range(10_000)]
    listed = environment(a_call(an_event(Resources=names)))["FOREWARN_RESOURCES"]
    assert 31_900 < len(listed) <= 32_000
    assert listed.split() == names[: len(listed.split())]


@given(value=st.text(), resources=st.lists(st.text()))
def test_any_service_value_fits_into_an_environment(
    value: str, resources: list[str]
) -> None:
    keys = ("EventId", "EventType", "EventStatus", "Description", "NotBefore")
    shown = dict.fromkeys((*keys, "EventSource", "ResourceType"), value)
    event = an_event(**shown, Resources=resources)
    for variable in environment(a_call(event)).values():
        assert b"\0" not in variable.encode()


# --- input -------------------------------------------------------------------


def test_the_input_is_the_event_as_received() -> None:
    event = an_event(Surprise={"deep": [1, None]}, Resources=["a", 7])
    text = hook_stdin(a_call(event))
    assert json.loads(text) == {
        **SHOWN,
        "Surprise": {"deep": [1, None]},
        "Resources": ["a", 7],
    }
    assert text.count(b"\n") == 1
    assert text.endswith(b"\n")


def test_a_lone_surrogate_in_the_event_is_passed_on() -> None:
    text = hook_stdin(a_call(an_event(Description="\ud800")))
    assert json.loads(text)["Description"] == "\ud800"


def test_an_event_without_raw_data_is_encoded_as_the_service_would() -> None:
    event = replace(an_event(), raw={})
    assert json.loads(hook_stdin(a_call(event))) == SHOWN


def test_a_deeply_nested_event_is_passed_on_without_its_depth() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    event = replace(an_event(), raw={**SHOWN, "Deep": deep})
    assert json.loads(hook_stdin(a_call(event))) == SHOWN


# --- reference page ----------------------------------------------------------


def test_the_hooks_page_lists_exactly_the_variables() -> None:
    page = (Path(__file__).parents[3] / "docs/reference/hooks.md").read_text()
    rows = re.findall(r"^\| `((?:FOREWARN|EVENT)_\w+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted(environment(a_call(times=2)))
