"""Agent configuration errors: what is refused, and the messages."""

import sys
import zoneinfo
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.agent.support.agent_files import HOOK, RULE, USED, errors_in, read

from forewarn.agent.config.file import read_plan
from forewarn.agent.config.plan import Window
from forewarn.errors import CannotStart, FaultyFile


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # unknown keys
        (
            "poll_second = 1\n",
            'line 1: poll_second: unknown key; did you mean "poll_seconds"?',
        ),
        (
            "[[rules]]\n[[rules]]\naprove = 1\n",
            "line 3: aprove in [[rules]] number 2: unknown key; did you mean"
            ' "approve"?',
        ),
        (
            '[hooks.drain]\ncommand = "x"\ntrys = 2\n',
            'line 3: trys in [hooks.drain]: unknown key; did you mean "tries"?',
        ),
        (
            f"{RULE}[rules.window]\nzon = 1\n",
            'line 5: zon in window in [[rules]] "r": unknown key; did you mean "zone"?',
        ),
        (
            "[metrics]\nqqq = 1\n",
            "line 2: qqq in [metrics]: unknown key; expected one of: listen, textfile",
        ),
        (
            'approve = "never"\n',
            "line 1: approve: unknown key; it belongs in [[rules]]",
        ),
        (
            f'{HOOK}endpoint = "http://x"\n',
            "line 3: endpoint in [hooks.drain]: unknown key; it belongs at the top,"
            " before the first table",
        ),
        (
            '[hook.drain]\ncommand = "x"\n',
            'line 1: hook: unknown key; did you mean "hooks"?',
        ),
        # wrong types and values
        (
            'reserve_seconds = "5"\n',
            "line 1: reserve_seconds: expected a number of seconds from 0 to 86400,"
            ' not "5"',
        ),
        (
            "poll_seconds = 0\n",
            "line 1: poll_seconds: expected a number of seconds from 0.01 to 86400,"
            " not 0",
        ),
        (
            "[hooks.drain]\ntries = 1.5\n",
            "line 2: tries in [hooks.drain]: expected a whole number of tries from 1"
            " to 1000, not 1.5",
        ),
        ("name = 7\n", "line 1: name: expected text, not 7"),
        (
            'name = "a\\u0007"\n',
            "line 1: name: expected a string without control characters",
        ),
        (
            'endpoint = "169.254.169.254"\n',
            "line 1: endpoint: '169.254.169.254' does not start with http://; for"
            " example, http://169.254.169.254",
        ),
        (
            'api_version = "2021-01-01"\n',
            'line 1: api_version: expected one of "2017-03-01", "2017-08-01",'
            ' "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01",'
            ' not "2021-01-01"; did you mean "2019-01-01"?',
        ),
        (
            "[metrics]\nlisten = 9254\n",
            "line 2: listen in [metrics]: expected an address such as 127.0.0.1:8080,"
            " not 9254",
        ),
        ("metrics = 1\n", "line 1: [metrics]: expected a table, not 1"),
        # rules
        (
            "[rules]\nname = 1\n",
            (
                "line 1: rules must be an array of tables; use [[rules]] instead of"
                " [rules]"
            ),
        ),
        (
            "rules = 1\n",
            "line 1: rules: expected tables called [[rules]], not 1",
        ),
        ("rules = [1]\n", "line 1: [[rules]] number 1: expected a table, not 1"),
        (
            f'{RULE}types = ["Freeze",\n  "Rebot"]\n',
            'line 5: types in [[rules]] "r": expected one of "Freeze", "Reboot",'
            ' "Redeploy", "Preempt", "Terminate", not "Rebot"; did you mean "Reboot"?',
        ),
        (
            f'{RULE}types = "Reboot"\n',
            'line 4: types in [[rules]] "r": expected a list of strings, not'
            ' "Reboot"; use ["Reboot"]',
        ),
        (
            f"{RULE}types = []\n",
            'line 4: types in [[rules]] "r": an empty list matches no events; to match'
            " all, omit the key",
        ),
        (
            f"{RULE}sources = [3]\n",
            'line 4: sources in [[rules]] "r": expected one of "Platform", "User",'
            " not 3",
        ),
        (
            f"{RULE}duration_seconds = {{min = 9, max = 1}}\n",
            'line 4: duration_seconds in [[rules]] "r": min (9) is greater than max'
            " (1)",
        ),
        (
            f"{RULE}notice_seconds = 9\n",
            'line 4: notice_seconds in [[rules]] "r": expected a range such as'
            " {min = 0, max = 9}, not 9",
        ),
        (
            f'{RULE}window = "22:00-06:00"\n',
            'line 4: window in [[rules]] "r": expected a window such as'
            ' {from = "22:00", to = "06:00"}, not "22:00-06:00"',
        ),
        (
            f"{RULE}notice_seconds = {{}}\n",
            'line 4: notice_seconds in [[rules]] "r": expected min, max or both;'
            " to accept any value, omit the key",
        ),
        (
            f"{RULE}notice_seconds = {{max = -1}}\n",
            'line 4: max in notice_seconds in [[rules]] "r": expected a number of'
            " seconds from 0 to 31622400, not -1",
        ),
        (
            f'{RULE}concerns = "other"\n',
            'line 4: concerns in [[rules]] "r": expected one of "me", "others",'
            ' "anyone", not "other"; did you mean "others"?',
        ),
        (
            f'{RULE}parallel = "yes"\n',
            'line 4: parallel in [[rules]] "r": expected true or false, not "yes"',
        ),
        (
            f'{RULE}together = "when-ready"\n',
            'line 4: together in [[rules]] "r": "when-ready" needs `ready`, a hook that'
            " checks whether all VMs are ready",
        ),
        (
            f"{RULE}{RULE}",
            'line 5: two rules are named "r"',
        ),
        (
            f'endpoint = "http://x"\ndiscover = true\n{RULE}',
            "line 2: discover: `discover` cannot be combined with `endpoint`; remove"
            " one of them",
        ),
        # windows
        (
            f'{RULE}window = {{days = ["Mon", "Funday"]}}\n',
            'line 4: days in window in [[rules]] "r": expected one of "Mon", "Tue",'
            ' "Wed", "Thu", "Fri", "Sat", "Sun", not "Funday"',
        ),
        (
            f"{RULE}window = {{days = []}}\n",
            'line 4: days in window in [[rules]] "r": with an empty list, the window is'
            " never open; omit the key",
        ),
        (
            f'{RULE}window = {{from = "25:00"}}\n',
            'line 4: from in window in [[rules]] "r": expected a time of day such'
            ' as "22:00", not "25:00"',
        ),
        (
            f'{RULE}window = {{zone = "Europe/Berln"}}\n',
            'line 4: zone in window in [[rules]] "r": unknown time zone "Europe/Berln";'
            ' did you mean "Europe/Berlin"?',
        ),
        (
            f'{RULE}window = {{zone = "../../etc/passwd"}}\n',
            'line 4: zone in window in [[rules]] "r": unknown time zone'
            ' "../../etc/passwd"',
        ),
        # hooks
        (
            f'{HOOK}{RULE}prepare = [\n"drian"]\n',
            'line 7: prepare in [[rules]] "r": hook "drian" not found; did you mean'
            ' "drain"?',
        ),
        (
            f'{HOOK}{RULE}together = "when-ready"\nready = "x"\n',
            'line 7: ready in [[rules]] "r": hook "x" not found',
        ),
        (
            f'{HOOK}{RULE}prepare = ["/opt/drain"]\n',
            'line 6: prepare in [[rules]] "r": hook "/opt/drain" not found;'
            " define it as the command of a [hooks.NAME] table, and use NAME here",
        ),
        (
            f'{HOOK}{RULE}undo = ["drain", "drain"]\n',
            'line 6: undo in [[rules]] "r": "drain" appears twice',
        ),
        (
            f'{HOOK}python = "a:b"\n',
            "line 3: python in [hooks.drain]: a hook cannot have both `command` and"
            " `python`",
        ),
        ("[hooks.x]\n", "line 1: [hooks.x]: a hook requires `command` or `python`"),
        (
            '[hooks]\nx = "drain"\n',
            'line 2: [hooks.x]: expected a table, not "drain"',
        ),
        (
            'hooks = "drain"\n',
            'line 1: [hooks]: expected tables such as [hooks.drain], not "drain"',
        ),
        (
            '[hooks."a b"]\ncommand = "x"\n',
            "line 1: [hooks.a b]: a hook name must consist of 1 to 64 letters,"
            " digits, dots, hyphens and underscores",
        ),
        (
            "[hooks.x]\ncommand = []\n",
            "line 2: command in [hooks.x]: expected a string for /bin/sh, or a"
            ' list such as ["drain", "--now"], not a list',
        ),
        (
            '[hooks.x]\ncommand = ["drain",\n 5]\n',
            "line 3: command in [hooks.x]: expected text, not 5",
        ),
        (
            '[hooks.x]\ncommand = ["", "a"]\n',
            "line 2: command in [hooks.x]: the first word, which names the program, is"
            " empty",
        ),
        (
            '[hooks.x]\ncommand = ["a", "b\\u0000"]\n',
            "line 2: command in [hooks.x]: a command cannot contain a null character",
        ),
        (
            '[hooks.x]\npython = "our.drain"\n',
            "line 2: python in [hooks.x]: expected a function such as"
            ' "package.module:function", not "our.drain"',
        ),
    ],
)
def test_an_error_names_the_line_and_the_likely_intention(
    file: Path, text: str, said: str
) -> None:
    assert said in errors_in(file, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "",
            (
                "line 1: the file has no rules, so the agent would do nothing; add a"
                " [[rules]] table"
            ),
        ),
        ('name = "x"\nrules = []\n', "line 1: the file has no rules"),
        ('name = "x\n', "line 1, column 10: not valid TOML: Illegal character"),
    ],
)
def test_an_unusable_file_is_refused(file: Path, text: str, said: str) -> None:
    (message,) = errors_in(file, text)
    assert message.startswith(said)


def test_a_missing_file_is_reported_with_advice(file: Path) -> None:
    with pytest.raises(CannotStart, match="no such file or directory; create it, or"):
        read_plan(file)


def test_all_errors_are_reported_at_once_in_line_order(file: Path) -> None:
    text = f'{HOOK}trys = 1\n{RULE}prepare = ["x"]\nwindow = 3\n'
    messages = errors_in(file, f'nam = "x"\n{text}')
    lines = [int(message.split(":")[0].removeprefix("line ")) for message in messages]
    assert lines == [1, 4, 8, 9]


def test_a_faulty_file_has_its_own_error_class(file: Path) -> None:
    with pytest.raises(FaultyFile):
        read(file, "x = 1\n")


def test_a_missing_time_zone_database_is_reported(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [
        "tzdata",
        *(module for module in sys.modules if module[:7] == "tzdata."),
    ]:
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        (message,) = errors_in(file, f'{RULE}window = {{zone = "Europe/Berlin"}}\n')
        utc = read(file, f'{RULE}window = {{zone = "utc"}}\n').rules[0].window
    finally:
        zoneinfo.reset_tzpath()
    assert "has no time zone database" in message
    assert utc == Window(zone="UTC")


SNIPPETS = st.sampled_from(
    [
        *USED.splitlines(),
        "[metrics]",
        "[rules.window]",
        "[[hooks]]",
        'zone = "x"',
        "types = [1]",
        "x.y = {z = [{}]}",
        "command = 1",
        "ready = 1",
        'name = ["x"]',
        "duration_seconds = {min = inf}",
        'together = "when-ready"',
        "\x00",
    ]
)


@given(st.lists(SNIPPETS, max_size=12))
@example(["[[hooks]]"])
def test_any_file_gives_a_plan_or_a_list_of_errors(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_text("\n".join(lines))
    try:
        assert read_plan(file).rules
    except CannotStart as error:
        messages = str(error).splitlines()
        assert messages
        assert all(message.startswith(f"{file}, line ") for message in messages)
