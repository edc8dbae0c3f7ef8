"""The agent's file: what it may say, and what is said of what it may not."""

import sys
import zoneinfo
from datetime import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forewarn.agent import config
from forewarn.agent.plan import (
    Approve,
    Concerns,
    Hook,
    Plan,
    Range,
    Rule,
    Step,
    Together,
    Window,
)
from forewarn.errors import CannotStart, FaultyFile

RULE = '[[rules]]\nname = "r"\napprove = "never"\n'
HOOK = '[hooks.drain]\ncommand = ["drain"]\n'
USED = f'{HOOK}{RULE}prepare = ["drain"]\n'


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.toml"


def read(file: Path, text: str) -> Plan:
    file.write_text(text)
    return config.read(file)


def complaints(file: Path, text: str) -> list[str]:
    """What is wrong, without the name of the file, which each begins with."""
    with pytest.raises(CannotStart) as caught:
        read(file, text)
    said = str(caught.value).splitlines()
    assert all(each.startswith(f"{file}, ") for each in said)
    return [each.removeprefix(f"{file}, ") for each in said]


def warnings(file: Path, text: str) -> list[str]:
    return [each.removeprefix(f"{file}, ") for each in read(file, text).warnings]


# --- what it may say ---------------------------------------------------------


def test_every_key_is_read(file: Path, tmp_path: Path) -> None:
    (tmp_path / "scripts").mkdir()
    plan = read(
        file,
        """\
endpoint = "http://127.0.0.1:8254"
name = "web-0"
state = "/var/lib/x"
api_version = "2019-08-01"
poll_seconds = 0.5
wait = false
blind_after_seconds = 60
reserve_seconds = 10
kill_after_seconds = 3
ready_every_seconds = 7
scripts = "scripts"
log_format = "JSON"
log_level = "debug"

[metrics]
listen = "[::1]:9254"
textfile = "/var/lib/node_exporter/forewarn.prom"

[hooks.drain]
command = ["/bin/drain", "--now"]
timeout_seconds = 90
tries = 3
retry_after_seconds = 2.5

[hooks.ready]
python = "our.cluster:ready"

[[rules]]
name = "reboots"
types = ["reboot", "Redeploy"]
sources = ["user"]
duration_seconds = {min = 0, max = 9}
notice_seconds = {min = 60}
concerns = "anyone"
description = "*host*"
window = {days = ["Mon", "sun"], from = "22:00", to = "06:30", zone = "Europe/Berlin"}
prepare = ["drain"]
started = ["drain"]
started_without_notice = ["drain"]
recover = ["drain"]
undo = ["drain"]
parallel = true
approve = "at-once"
together = "when-ready"
ready = "ready"
""",
    )
    assert plan == Plan(
        endpoint="http://127.0.0.1:8254",
        name="web-0",
        state=Path("/var/lib/x"),
        api_version="2019-08-01",
        poll=0.5,
        wait=False,
        blind_after=60,
        reserve=10,
        kill_after=3,
        ready_every=7,
        scripts=tmp_path / "scripts",
        log_format="json",
        log_level="debug",
        metrics="[::1]:9254",
        textfile=Path("/var/lib/node_exporter/forewarn.prom"),
        hooks={
            "drain": Hook(
                name="drain",
                command=("/bin/drain", "--now"),
                timeout=90,
                tries=3,
                retry_after=2.5,
            ),
            "ready": Hook(name="ready", python="our.cluster:ready"),
        },
        rules=(
            Rule(
                name="reboots",
                types=frozenset({"Reboot", "Redeploy"}),
                sources=frozenset({"User"}),
                duration=Range(least=0, most=9),
                notice=Range(least=60),
                concerns=Concerns.ANYONE,
                description="*host*",
                window=Window(
                    days=frozenset({0, 6}),
                    begins=time(22),
                    ends=time(6, 30),
                    zone="Europe/Berlin",
                ),
                hooks=dict.fromkeys(Step, ("drain",)),
                parallel=True,
                approve=Approve.AT_ONCE,
                together=Together.WHEN_READY,
                ready="ready",
            ),
        ),
        warnings=plan.warnings,
    )


def test_what_is_not_said_is_as_the_plan_has_it(file: Path) -> None:
    plan = read(file, USED)
    assert plan == Plan(
        state=plan.state,
        hooks={"drain": Hook(name="drain", command=("drain",))},
        rules=(
            Rule(name="r", hooks={Step.PREPARE: ("drain",)}, approve=Approve.NEVER),
        ),
    )


def test_a_command_in_one_text_is_for_the_shell(file: Path) -> None:
    plan = read(file, USED.replace('["drain"]\n[', '"drain | tee x"\n['))
    assert plan.hooks["drain"].command == ("/bin/sh", "-c", "drain | tee x")


def test_paths_begin_where_the_file_is(file: Path, tmp_path: Path) -> None:
    assert read(file, f'state = "s"\n{USED}').state == tmp_path / "s"
    nearby = read(file, USED.replace('command = ["drain"]', 'command = ["bin/drain"]'))
    assert nearby.hooks["drain"].command == (str(tmp_path / "bin/drain"),)


def test_a_rule_without_a_name_is_called_by_its_number(file: Path) -> None:
    plan = read(file, f'{RULE}[[rules]]\ntypes = ["Freeze"]\napprove = "never"\n')
    assert [rule.name for rule in plan.rules] == ["r", "rule 2"]


@pytest.mark.parametrize(
    ("written", "begins", "ends"),
    [
        ('{from = "22:00"}', time(22), time()),
        ('{to = "6:00"}', time(), time(6)),
        ('{from = "18:00", to = "24:00"}', time(18), time()),
        ("{from = 22:30:00, to = 23:00:00}", time(22, 30), time(23)),
        ("{}", time(), time()),
    ],
)
def test_a_window_may_leave_out_its_ends(
    file: Path, written: str, begins: time, ends: time
) -> None:
    rule = read(file, f"{RULE}window = {written}\n").rules[0]
    assert rule.window == Window(begins=begins, ends=ends)


def test_a_file_of_windows_is_read(file: Path) -> None:
    file.write_bytes(b"\xef\xbb\xbf" + RULE.replace("\n", "\r\n").encode())
    assert config.read(file).rules[0].name == "r"


# --- what it may not say -----------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        # unknown keys
        (
            "poll_second = 1\n",
            'line 1: unknown key "poll_second"; did you mean "poll_seconds"?',
        ),
        (
            f'{RULE}aprove = "never"\n',
            'line 4: unknown key "aprove" in [[rules]] "r"; did you mean "approve"?',
        ),
        (
            "[[rules]]\n[[rules]]\naprove = 1\n",
            'line 3: unknown key "aprove" in [[rules]] number 2; did you mean'
            ' "approve"?',
        ),
        (
            '[hooks.drain]\ncommand = "x"\ntrys = 2\n',
            'line 3: unknown key "trys" in [hooks.drain]; did you mean "tries"?',
        ),
        (
            f"{RULE}[rules.window]\nzon = 1\n",
            'line 5: unknown key "zon" in window in [[rules]] "r"; did you mean'
            ' "zone"?',
        ),
        (
            "[metrics]\nqqq = 1\n",
            'line 2: unknown key "qqq" in [metrics]; known are listen, textfile',
        ),
        (
            'approve = "never"\n',
            'line 1: unknown key "approve"; it belongs in a [[rules]]',
        ),
        (
            f'{HOOK}endpoint = "http://x"\n',
            'line 3: unknown key "endpoint" in [hooks.drain]; it belongs at the top,'
            " before the first table",
        ),
        (
            '[hook.drain]\ncommand = "x"\n',
            'line 1: unknown key "hook"; did you mean "hooks"?',
        ),
        # wrong types and values
        (
            'reserve_seconds = "5"\n',
            "line 1: reserve_seconds: expected a number of seconds from 0 to 86400,"
            ' not "5"',
        ),
        (
            "poll_seconds = true\n",
            "line 1: poll_seconds: expected a number of seconds from 0.01 to 86400,"
            " not true",
        ),
        (
            "poll_seconds = nan\n",
            "line 1: poll_seconds: expected a number of seconds from 0.01 to 86400,"
            " not nan",
        ),
        (
            "[hooks.drain]\ntries = 1.5\n",
            "line 2: tries in [hooks.drain]: expected a whole number of tries from 1"
            " to 1000, not 1.5",
        ),
        ("name = 7\n", "line 1: name: expected text, not 7"),
        ('name = " "\n', 'line 1: name: expected text, not " "'),
        (
            'endpoint = "169.254.169.254"\n',
            "line 1: endpoint: '169.254.169.254' does not begin with http://; write it"
            " like http://169.254.169.254",
        ),
        (
            'api_version = "2021-01-01"\n',
            'line 1: api_version: expected one of "2017-03-01", "2017-08-01",'
            ' "2017-11-01", "2019-01-01", "2019-04-01", "2019-08-01", "2020-07-01",'
            ' not "2021-01-01"; did you mean "2019-01-01"?',
        ),
        (
            "[metrics]\nlisten = 9254\n",
            "line 2: listen in [metrics]: expected an address to listen on such as"
            ' "127.0.0.1:9254", not 9254',
        ),
        (
            '[metrics]\nlisten = "9254"\n',
            "line 2: listen in [metrics]: expected an address to listen on such as"
            ' "127.0.0.1:9254", not "9254"',
        ),
        ("metrics = 1\n", "line 1: [metrics]: expected a table, not 1"),
        # rules
        (
            "[rules]\nname = 1\n",
            "line 1: rules are a list: write [[rules]], not [rules]",
        ),
        (
            "rules = 1\n",
            "line 1: rules: expected tables called [[rules]], not 1",
        ),
        ("rules = [1]\n", "line 1: [[rules]] number 1: expected a table, not 1"),
        (
            f'{RULE}types = ["Freeze",\n  "Rebot"]\n',
            'line 5: types in [[rules]] "r": "Rebot" is no event type; did you mean'
            ' "Reboot"?',
        ),
        (
            f'{RULE}types = ["Quux"]\n',
            'line 4: types in [[rules]] "r": "Quux" is no event type; known are'
            " Freeze, Reboot, Redeploy, Preempt, Terminate",
        ),
        (
            f'{RULE}types = "Reboot"\n',
            'line 4: types in [[rules]] "r": expected a list of texts, not "Reboot";'
            ' write ["Reboot"]',
        ),
        (
            f"{RULE}types = []\n",
            'line 4: types in [[rules]] "r": an empty list matches no event; leave'
            " the key out",
        ),
        (
            f"{RULE}sources = [3]\n",
            'line 4: sources in [[rules]] "r": expected text, not 3',
        ),
        (
            f'{RULE}sources = ["Users"]\n',
            'line 4: sources in [[rules]] "r": "Users" is no event source; did you'
            ' mean "User"?',
        ),
        (
            f"{RULE}duration_seconds = {{min = 9, max = 1}}\n",
            'line 4: duration_seconds in [[rules]] "r": min is 9, which is more than'
            " max, 1",
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
            'line 4: notice_seconds in [[rules]] "r": it has neither min nor max;'
            " leave the key out",
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
            'line 4: together in [[rules]] "r": "when-ready" needs a key `ready`, the'
            " hook that tells whether all are",
        ),
        (
            f"{RULE}{RULE}",
            'line 5: two rules are called "r"',
        ),
        # windows
        (
            f'{RULE}window = {{days = ["Mon", "Funday"]}}\n',
            'line 4: days in window in [[rules]] "r": expected one of Mon, Tue, Wed,'
            ' Thu, Fri, Sat, Sun, not "Funday"',
        ),
        (
            f"{RULE}window = {{days = []}}\n",
            'line 4: days in window in [[rules]] "r": an empty list is a window that'
            " is never open",
        ),
        (
            f'{RULE}window = {{from = "25:00"}}\n',
            'line 4: from in window in [[rules]] "r": expected a time of the day such'
            ' as "22:00", not "25:00"',
        ),
        (
            f'{RULE}window = {{zone = "Europe/Berln"}}\n',
            'line 4: zone in window in [[rules]] "r": "Europe/Berln" is no time zone;'
            ' did you mean "Europe/Berlin"?',
        ),
        (
            f'{RULE}window = {{zone = "../../etc/passwd"}}\n',
            'line 4: zone in window in [[rules]] "r": "../../etc/passwd" is no time'
            " zone",
        ),
        # hooks
        (
            f'{HOOK}{RULE}prepare = [\n"drian"]\n',
            'line 7: prepare in [[rules]] "r": there is no hook "drian"; did you mean'
            ' "drain"?',
        ),
        (
            f'{HOOK}{RULE}together = "when-ready"\nready = "x"\n',
            'line 7: ready in [[rules]] "r": there is no hook "x"',
        ),
        (
            f'{HOOK}{RULE}prepare = ["/opt/drain"]\n',
            'line 6: prepare in [[rules]] "r": there is no hook "/opt/drain"; write'
            " [hooks.NAME] with this as its command, and NAME here",
        ),
        (
            f'{HOOK}{RULE}undo = ["drain", "drain"]\n',
            'line 6: undo in [[rules]] "r": "drain" stands here twice',
        ),
        (
            f'{HOOK}python = "a:b"\n',
            "line 3: python in [hooks.drain]: a hook has a command or a python, not"
            " both",
        ),
        ("[hooks.x]\n", "line 1: [hooks.x]: a hook needs a command, or a python"),
        (
            '[hooks]\nx = "drain"\n',
            'line 2: [hooks.x]: expected a table, not "drain"; what it runs is its'
            " command",
        ),
        (
            'hooks = "drain"\n',
            'line 1: [hooks]: expected tables such as [hooks.drain], not "drain"',
        ),
        (
            '[hooks."a b"]\ncommand = "x"\n',
            "line 1: [hooks.a b]: a hook is called by at most 64 letters, digits,"
            " dots, - and _",
        ),
        (
            "[hooks.x]\ncommand = []\n",
            "line 2: command in [hooks.x]: expected text for /bin/sh, or a list such"
            ' as ["drain", "--now"], not a list',
        ),
        (
            '[hooks.x]\ncommand = ["drain",\n 5]\n',
            "line 3: command in [hooks.x]: expected text, not 5",
        ),
        (
            '[hooks.x]\ncommand = ["", "a"]\n',
            "line 2: command in [hooks.x]: the first word, which is to be run, is"
            " empty",
        ),
        (
            '[hooks.x]\ncommand = ["a", "b\\u0000"]\n',
            "line 2: command in [hooks.x]: no command has a zero character in it",
        ),
        (
            '[hooks.x]\npython = "our.drain"\n',
            "line 2: python in [hooks.x]: expected a function such as"
            ' "package.module:function", not "our.drain"',
        ),
    ],
)
def test_a_complaint_tells_the_line_and_what_was_meant(
    file: Path, text: str, said: str
) -> None:
    assert said in complaints(file, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "line 1: there are no rules, so the agent would do nothing; add"),
        ('name = "x"\nrules = []\n', "line 1: there are no rules"),
        ('name = "x\n', "line 1, column 10: this is not TOML: Illegal character"),
        ("a = 1\na = 2\n", "line 2, column 6: this is not TOML: Cannot overwrite"),
        ("a = [1,\n\n", "line 3: this is not TOML: Invalid value"),
        (f"a = {'[' * 3000}", "line 1: this is no configuration"),
    ],
)
def test_a_file_without_sense_is_refused(file: Path, text: str, said: str) -> None:
    (found,) = complaints(file, text)
    assert found.startswith(said)


def test_a_file_that_is_no_text_is_refused_at_its_line(file: Path) -> None:
    file.write_bytes(b'name = "x"\nstate = "\xff"\n')
    with pytest.raises(CannotStart, match=r"agent.toml, line 2: this is not UTF-8"):
        config.read(file)


def test_a_file_that_cannot_be_read_is_told(file: Path, tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="no such file or directory; write it, or"):
        config.read(file)
    with pytest.raises(CannotStart, match="cannot be read: is a directory"):
        config.read(tmp_path)


def test_all_complaints_are_made_at_once_in_the_order_of_the_lines(file: Path) -> None:
    text = f'{HOOK}trys = 1\n{RULE}prepare = ["x"]\nwindow = 3\n'
    said = complaints(file, f'nam = "x"\n{text}')
    lines = [int(each.split(":")[0].removeprefix("line ")) for each in said]
    assert lines == [1, 4, 8, 9]


def test_a_faulty_file_is_an_error_of_its_own(file: Path) -> None:
    with pytest.raises(FaultyFile):
        read(file, "x = 1\n")


def test_a_machine_without_time_zones_is_told_so(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ["tzdata", *(each for each in sys.modules if each[:7] == "tzdata.")]:
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        (said,) = complaints(file, f'{RULE}window = {{zone = "Europe/Berlin"}}\n')
        utc = read(file, f'{RULE}window = {{zone = "utc"}}\n').rules[0].window
    finally:
        zoneinfo.reset_tzpath()
    assert "has no time zone database" in said
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
def test_any_file_is_a_plan_or_a_list_of_complaints(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    file = tmp_path_factory.getbasetemp() / "any.toml"
    file.write_text("\n".join(lines))
    try:
        assert config.read(file).rules
    except CannotStart as error:
        said = str(error).splitlines()
        assert said
        assert all(each.startswith(f"{file}, line ") for each in said)


# --- what is odd -------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HOOK}{RULE}", 'line 1: no rule uses the hook "drain"'),
        (
            f'{RULE}[[rules]]\nname = "s"\ntypes = ["Reboot"]\napprove = "never"\n',
            'line 4: rule "s" never matches, as "r" before it takes all that it could'
            " match",
        ),
        (
            '[[rules]]\nname = "r"\n',
            'line 1: rule "r" has no hooks in prepare, so it approves as soon as the'
            ' event is seen; write approve = "at-once" if that is meant, else "never"',
        ),
        (
            f'{USED}ready = "drain"\n',
            'line 3: rule "r" has a hook `ready`, which is asked only if together ='
            ' "when-ready"',
        ),
        (
            f'api_version = "2019-04-01"\n{RULE}sources = ["User"]\n',
            'line 2: rule "r" asks for sources, which api_version 2019-04-01 does not'
            " tell, so it never matches",
        ),
        (
            f'api_version = "2017-08-01"\n{RULE}types = ["Preempt", "Freeze"]\n',
            'line 2: rule "r" is for Preempt, which 2017-08-01 does not show',
        ),
        (
            f"blind_after_seconds = 5\npoll_seconds = 3\n{RULE}",
            "line 2: a document is read every 3 s, and after 5 s without one there is"
            " an alarm; that will come and go",
        ),
    ],
)
def test_what_is_hardly_meant_is_warned_of(file: Path, text: str, said: str) -> None:
    assert warnings(file, text) == [said]


def test_nothing_is_odd_about_a_usual_file(file: Path) -> None:
    text = f'{USED}[[rules]]\nname = "s"\nconcerns = "others"\napprove = "never"\n'
    assert warnings(file, text) == []
