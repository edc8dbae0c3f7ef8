"""Scenario files: errors, all reported at once with their line."""

from pathlib import Path

import pytest
from tests.testing.support.scenario_files import a_scenario, errors_in

from forewarn.errors import FaultyFile
from forewarn.testing.scenario.parser import read_scenario

WAIT = '{wait = "1s"}'
REBOOT = '{announce = "Reboot", vms = ["web-0"], as = "a"}'


def only_error(text: str) -> str:
    """Return the only error, without the name of the file."""
    (line,) = errors_in(text)
    return line.removeprefix("reboot.toml, ")


def test_all_errors_are_reported_in_order_of_lines() -> None:
    text = """\
title = ""
nmae = "x"

[[steps]]
restart = "web-9"
as = "a"

[[steps]]
advance_to = "start"

[[steps]]
expect = "approved"
evnt = "a"

[throughout]
polls_at_least_every = "often"
"""
    assert errors_in(text) == [
        'reboot.toml, line 1: title: expected text, not ""',
        "reboot.toml, line 2: nmae: unknown key; expected one of: title, description,"
        " vm, fleet, patience, throughout, steps",
        'reboot.toml, line 5: restart in step 1: VM "web-9" is not in the fleet;'
        " expected one of: web-0, web-1, web-2, db-0, batch_0, batch_1, batch_2,"
        " batch_3",
        "reboot.toml, line 8: step 2: missing key `of`: the event that starts or ends",
        "reboot.toml, line 11: step 3: missing key `event`: name of the event",
        'reboot.toml, line 13: evnt in step 3: unknown key; did you mean "event"?',
        "reboot.toml, line 16: polls_at_least_every in [throughout]: expected a"
        ' duration such as 90, 90s, 20m, 1h30m, 1d or 250ms, not "often"',
    ]


WRONG = [
    (
        '{fault = "503", for = "2s"}',
        'for in step 2: unknown key; it is now called "duration"',
    ),
    (
        '{maintain = "host-x"}',
        'maintain in step 2: host "host-x" is not in the fleet; expected one of:'
        " host-a, host-b, host-c",
    ),
    (
        '{announce = "Reboot", group = "zzz"}',
        'group in step 2: group "zzz" is not in the fleet; expected one of: web,'
        " db-0, batch",
    ),
    (
        '{cancel = "b"}',
        'cancel in step 2: no earlier step sets as = "b"; expected one of: a',
    ),
    (
        '{restart = "web-1", as = "a"}',
        'as in step 2: step 1 already uses the name "a"',
    ),
    (
        '{approve = "a", by = "db-0"}',
        'step 2: db-0 cannot approve "a" because the event is not visible to it',
    ),
    (
        '{expect = "approved", event = "a", by = "db-0"}',
        'step 2: db-0 cannot approve "a" because the event is not visible to it',
    ),
    (
        '{evict = "web-0"}',
        "step 2: web-0 is not a spot VM; only spot VMs can be evicted",
    ),
    (
        '{announce = "Freeze", vms = ["web-0"], source = "User"}',
        "step 2: a Freeze cannot have source User; omit source",
    ),
    (
        '{announce = "Reboot", vms = ["web-0"], notice = "5m"}',
        "step 2: `notice` for a Reboot must be at least 15m; increase it, or set"
        " short_notice = true",
    ),
    (
        '{announce = "Reboot", vms = ["web-0"], emergency = true}',
        "step 2: an emergency requires a reason",
    ),
    (
        '{announce = "Reboot", vms = ["web-0"], duration = "1500ms"}',
        "step 2: `duration` must be a whole number of seconds",
    ),
    (
        '{announce = "Reboot", vms = ["web-0"], host = "host-a"}',
        "step 2: announce requires exactly one of vms, host and group",
    ),
    (
        '{announce = "Reboot", vms = "web-0"}',
        'vms in step 2: expected a list of VMs, not "web-0"; use ["web-0"]',
    ),
    (
        '{advance = "1m", wait = "1s"}',
        (
            "step 2: a step can have only one verb, not advance and wait; use a"
            " separate step for each"
        ),
    ),
    (
        '{anounce = "Reboot", vms = ["web-0"]}',
        'step 2: anounce: unknown key; did you mean "announce"?',
    ),
    (
        '{advance = "999999999d999999999h"}',
        'advance in step 2: expected at most ten years, not "999999999d999999999h"',
    ),
    (
        '{wait = "2d"}',
        'wait in step 2: expected at most a day, not "2d"',
    ),
    (
        '{expect = "aproved", event = "a"}',
        'expect in step 2: expected one of "seen", "approved", "not-approved",'
        ' "polled", "marked", "running", "ended", not "aproved"; did you mean'
        ' "approved"?',
    ),
]


@pytest.mark.parametrize(("step", "error"), WRONG, ids=[step for step, _ in WRONG])
def test_wrong_step_is_reported_with_a_remedy(step: str, error: str) -> None:
    assert only_error(a_scenario(REBOOT, step)) == f"line 5: {error}"


def test_number_too_long_to_print_is_refused() -> None:
    message = only_error(a_scenario(f"{{advance = 0x{'f' * 5000}}}"))
    assert message.endswith("expected at most ten years, not a very long number")


def test_step_without_a_verb_is_refused_with_the_valid_ones() -> None:
    message = only_error(a_scenario('{zzz = "a"}'))
    assert message.startswith(
        "line 4: step 1: the step has no verb; expected one of: announce,"
    )
    assert "announce" in message
    assert "expect" in message


def test_event_invisible_to_the_program_cannot_be_expected() -> None:
    steps = ('{restart = "db-0", as = "a"}', '{expect = "seen", event = "a"}')
    message = only_error(a_scenario(*steps))
    assert message.endswith(
        'the program acts as web-0, but "a" is not visible to that VM'
    )
    assert errors_in(a_scenario(*steps, top='vm = "db-0"')) == []


def test_isolated_neighbor_cannot_approve() -> None:
    fleet = (
        'vms = [{ name = "a", group = "g" }, { name = "b", group = "g" }]\n'
        'groups = [{ name = "g", kind = "scale-set", isolated = true }]'
    )
    steps = ('{restart = "a", as = "x"}', '{approve = "x", by = "b"}')
    message = only_error(a_scenario(*steps, fleet=fleet))
    assert message.endswith(
        'b cannot approve "x" because the event is not visible to it'
    )


def test_minimum_notice_of_a_terminate_comes_from_its_group() -> None:
    fleet = (
        'vms = [{ name = "a", group = "g" }]\n'
        'groups = [{ name = "g", kind = "scale-set", terminate_notice_seconds = 600 }]'
    )
    step = '{announce = "Terminate", vms = ["a"], notice = "9m"}'
    assert "at least 10m" in only_error(a_scenario(step, fleet=fleet))


def test_host_without_vms_is_refused() -> None:
    fleet = 'vms = [{ name = "a" }]\nhosts = [{ name = "h" }]'
    message = only_error(a_scenario('{failed = "h"}', fleet=fleet))
    assert message.endswith("host h has no VMs, so no event would be announced")


def test_wrong_step_still_defines_its_name() -> None:
    steps = ('{restart = "web-9", as = "a"}', '{cancel = "a"}', WAIT)
    assert len(errors_in(a_scenario(*steps))) == 1


def test_wrong_fleet_suppresses_errors_about_names() -> None:
    steps = ('{restart = "a", as = "x"}', '{approve = "x", by = "b"}')
    message = only_error(
        a_scenario(*steps, top='vm = "a"', fleet="vms = [{ name = 7 }]")
    )
    assert message.startswith("line 7: fleet: [[vms]] 1: name: expected a name")


def test_a_fleet_without_vms_is_refused() -> None:
    message = only_error(a_scenario(WAIT, fleet="vms = []"))
    assert message == "line 6: the fleet has no VMs"


def test_missing_fleet_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(a_scenario(WAIT, top='fleet = "gone.toml"'))
    with pytest.raises(FaultyFile, match=r"cannot read .*gone\.toml"):
        read_scenario(path)


def test_a_program_cannot_both_end_and_keep_running() -> None:
    text = a_scenario('{expect = "ended"}', throughout="keeps_running = true")
    assert only_error(text) == (
        "line 7: keeps_running in [throughout]: a step expects the program to have"
        ' "ended"; remove keeps_running'
    )


def test_never_approves_must_name_an_announced_event() -> None:
    text = a_scenario(REBOOT, throughout='never_approves = ["b"]')
    assert 'no earlier step sets as = "b"' in only_error(text)


def test_invalid_toml_is_reported_with_its_line() -> None:
    (message,) = errors_in('title = "t\n')
    assert message.startswith("reboot.toml, line 1, column 11: not valid TOML: ")
