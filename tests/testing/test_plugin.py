"""The pytest plugin, as used by other projects."""

import subprocess
import sys

import pytest

#: Warnings are errors, so that leaked resources fail the test.
STRICT = "[pytest]\naddopts = --strict-markers\nfilterwarnings = error\n"

PASSING = """
import asyncio
import os
import subprocess
import sys
import threading

import pytest
from forewarn import Client
from forewarn.client import aio


@pytest.fixture(autouse=True)
def nothing_left():
    before = {*threading.enumerate()}
    yield
    assert {*threading.enumerate()} <= before


def test_the_environment_points_to_the_first_vm(scheduled_events):
    assert os.environ["FOREWARN_ENDPOINT"] == scheduled_events.endpoint
    event = scheduled_events.reboot()
    with Client() as client:
        client.approve(*client.document().events)
    event.assert_approved(by="web-0")


def test_the_environment_is_as_before():
    assert "FOREWARN_ENDPOINT" not in os.environ
    assert "FOREWARN_MARK_URL" not in os.environ


@pytest.mark.scheduled_events(fleet="fleet.toml", vm="db-0", seed=7)
def test_a_fleet_is_a_file_next_to_the_test(scheduled_events):
    assert [*scheduled_events.fleet.vms] == ["web-0", "db-0"]
    assert scheduled_events.endpoint.endswith("/vm/db-0")


@pytest.mark.scheduled_events(fleet={"vms": [{"name": "only"}]})
def test_a_fleet_is_a_table(scheduled_events):
    assert scheduled_events.vm == "only"


def test_there_can_be_several_services(make_scheduled_events):
    one, two = make_scheduled_events(vms=["a"]), make_scheduled_events(vms=["a"])
    event = one.reboot()
    with Client(two.endpoint) as client:
        assert client.document().events == ()
    with Client(one.endpoint) as client:
        assert [each.id for each in client.document().events] == [event.id]


def test_a_program_marks_what_it_has_done(scheduled_events):
    code = "import os, urllib.request as r;"
    code += "r.urlopen(os.environ['FOREWARN_MARK_URL'], b'hook done').close()"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert [each.name for each in scheduled_events.marks] == ["hook done"]


def test_an_asyncio_program(scheduled_events):
    async def program():
        async with aio.Client() as client:
            await client.approve(*(await client.document()).events)

    async def both(event):
        demand = asyncio.to_thread(event.assert_approved, within="30s")
        await asyncio.gather(program(), demand)

    asyncio.run(both(scheduled_events.reboot()))


def test_the_control_plane_starts_on_first_use(scheduled_events):
    import json
    from urllib.request import Request, urlopen

    request = Request(scheduled_events.control + "/v1/vms/web-0")
    request.add_header("Authorization", "Bearer " + scheduled_events.token)
    with urlopen(request) as response:
        assert json.load(response)["name"] == "web-0"
"""

FAILING = """
import pytest


from urllib.request import Request, urlopen


def poll(rehearsal):
    path = "/metadata/scheduledevents?api-version=2020-07-01"
    headers = {"Metadata": "true"}
    urlopen(Request(rehearsal.endpoint + path, headers=headers)).close()


def test_of_something_else(scheduled_events):
    scheduled_events.freeze("web-1")
    assert 1 == 2


def test_of_something_else_after_a_poll(scheduled_events):
    scheduled_events.freeze("web-1")
    poll(scheduled_events)
    assert 2 == 3


def test_of_an_event(scheduled_events):
    event = scheduled_events.reboot()
    poll(scheduled_events)
    event.assert_approved(within="10ms")


def test_of_a_program(scheduled_events):
    with scheduled_events.run("sh", "-c", "echo no disk; exit 3"):
        scheduled_events.wait_marked("ready", within="60s")


def test_after_a_program(scheduled_events):
    with scheduled_events.run("echo", "hook done") as program:
        scheduled_events.wait_output("hook done")
    assert 3 == 4


def test_of_a_misspelled_option(scheduled_events):
    poll(scheduled_events)
    with scheduled_events.run("sleep", "600"):
        scheduled_events.reboot(notise="20m")


def test_of_a_missing_program(scheduled_events):
    with scheduled_events.run("no-such-thing"):
        pass


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


def test_of_an_error_without_a_message(scheduled_events):
    poll(scheduled_events)
    raise Unprintable


@pytest.mark.scheduled_events(vms="a")
def test_vms(scheduled_events):
    pass


@pytest.mark.scheduled_events(vms=["a"], vm="b")
def test_vm(scheduled_events):
    pass


@pytest.mark.scheduled_events(size=3)
def test_keyword(scheduled_events):
    pass


@pytest.mark.scheduled_events("fleet.toml")
def test_position(scheduled_events):
    pass
"""

FLEET = '[[vms]]\nname = "web-0"\n[[vms]]\nname = "db-0"\n'

#: Simulates a missing server extra.
WITHOUT_SERVER = "import sys\nsys.modules['sqlalchemy'] = None\n"


def run_alone(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.RunResult:
    """Run pytest with only this plugin, ignoring others that are installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester.runpytest_subprocess("-q", "-p", "forewarn.testing.plugin")


@pytest.mark.slow
def test_project_with_warnings_as_errors_can_use_every_feature(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOREWARN_CLOCK", "x60")  # ignored by tests
    pytester.makeini(STRICT)
    pytester.makefile(".toml", fleet=FLEET)
    pytester.makepyfile(PASSING)
    run_alone(pytester, monkeypatch).assert_outcomes(passed=8)


def test_a_failure_shows_what_explains_it_once(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("CI", "BUILD_NUMBER"):  # in CI, pytest prints a longer summary
        monkeypatch.delenv(variable, raising=False)
    pytester.makeini(STRICT)
    pytester.makepyfile(FAILING)
    result = pytester.runpytest_inprocess("-q", "-p", "no:schemathesis")
    result.assert_outcomes(failed=8, errors=4)
    result.stdout.fnmatch_lines(
        [
            "scheduled_events: vms must be a list of names, such as ['a']",
            "scheduled_events: VM b is not in the fleet; expected one of: a",
            "scheduled_events: unknown option 'size'; expected one of: fleet, *",
            (
                "the scheduled_events marker accepts only keyword arguments, such as"
                " vms=*"
            ),
            ">       assert 1 == 2",
            "*test_a_failure_shows_what_explains_it_once.py:15: AssertionError",
            ">       assert 2 == 3",
            "*- scheduled events -*",
            "  +0:00  0.00 s  announced Freeze * of web-1, not before +15:00",
            '>       event.assert_approved(within="10ms")',
            "E       AssertionError: Reboot * of web-0 was not approved within 0.01 s",
            "E         +0:00  0.00 s  announced Reboot * of web-0, not before +15:00",
            "*test_a_failure_shows_what_explains_it_once.py:27: AssertionError",
            "E           AssertionError: sh exited with code 3 after *",
            "E             no disk",
            "E           mark 'ready' was not made",
            "*test_a_failure_shows_what_explains_it_once.py:32: AssertionError",
            ">       assert 3 == 4",
            "*- scheduled events -*",
            "output of echo:",
            "  hook done",
            '>           scheduled_events.reboot(notise="20m")',
            "E           *InvalidInput: unknown option 'notise'; did you mean *",
            "",
            "*test_a_failure_shows_what_explains_it_once.py:44: InvalidInput",
            '>       with scheduled_events.run("no-such-thing"):',
            "E       *CannotStart: cannot start no-such-thing: No such file *",
            "",
            "*test_a_failure_shows_what_explains_it_once.py:48: CannotStart",
            ">       raise Unprintable",
            "*- scheduled events -*",
        ]
    )
    assert str(result.stdout).count("timeline (service's clock") == 3


@pytest.mark.slow
def test_fixture_names_the_missing_server_extra(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(WITHOUT_SERVER)
    pytester.makepyfile(
        "def test_other(): pass\ndef test_events(scheduled_events): pass\n"
    )
    result = run_alone(pytester, monkeypatch)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*module sqlalchemy not found); to install it, run: *pip install *?server?*"]
    )
    assert "Traceback" not in str(result.stdout)


def test_plugin_imports_next_to_nothing_when_unused() -> None:
    code = """
import sys, pytest
before = {*sys.modules}
import forewarn.testing.plugin
print(sorted({*sys.modules} - before))
"""
    output = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert output.strip() == str(
        ["forewarn", "forewarn.testing", "forewarn.testing.plugin"]
    )
