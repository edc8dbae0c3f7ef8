"""Agent configuration: accepted keys and values, and warnings."""

from datetime import time
from pathlib import Path

import pytest
from tests.agent.support.agent_files import HOOK, RULE, USED, read, warnings

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    Hook,
    HookPoint,
    NumberRange,
    Plan,
    Rule,
    RuleScope,
    SharedApproval,
    Window,
)
from forewarn.configfile.values import Address

# --- accepted values ---------------------------------------------------------


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
hooks_at_once = 3
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
        file=file,
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
        hooks_at_once=3,
        scripts=tmp_path / "scripts",
        log_format="json",
        log_level="debug",
        metrics=Address("::1", 9254),
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
                duration=NumberRange(least=0, most=9),
                notice=NumberRange(least=60),
                concerns=RuleScope.ANYONE,
                description="*host*",
                window=Window(
                    days=frozenset({0, 6}),
                    begins=time(22),
                    ends=time(6, 30),
                    zone="Europe/Berlin",
                ),
                hooks=dict.fromkeys(HookPoint, ("drain",)),
                parallel=True,
                approve=ApprovalPolicy.AT_ONCE,
                together=SharedApproval.WHEN_READY,
                ready="ready",
            ),
        ),
        warnings=plan.warnings,
    )


def test_missing_keys_get_the_defaults_of_the_plan(file: Path) -> None:
    plan = read(file, USED)
    assert plan == Plan(
        file=file,
        state=plan.state,
        hooks={"drain": Hook(name="drain", command=("drain",))},
        rules=(
            Rule(
                name="r",
                hooks={HookPoint.PREPARE: ("drain",)},
                approve=ApprovalPolicy.NEVER,
            ),
        ),
    )


def test_a_command_given_as_text_is_run_by_the_shell(file: Path) -> None:
    plan = read(file, USED.replace('["drain"]\n[', '"drain | tee x"\n['))
    assert plan.hooks["drain"].command == ("/bin/sh", "-c", "drain | tee x")


def test_relative_paths_start_at_the_file(file: Path, tmp_path: Path) -> None:
    assert read(file, f'state = "s"\n{USED}').state == tmp_path / "s"
    nearby = read(file, USED.replace('command = ["drain"]', 'command = ["bin/drain"]'))
    assert nearby.hooks["drain"].command == (str(tmp_path / "bin/drain"),)


def test_a_relative_command_of_a_file_in_the_current_folder_is_absolute(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = USED.replace('command = ["drain"]', 'command = ["./drain"]')
    plan = read(Path(file.name), text)
    assert plan.hooks["drain"].command == (f"{tmp_path}/drain",)


def test_a_rule_without_a_name_is_named_by_its_number(file: Path) -> None:
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
def test_a_window_may_omit_its_bounds(
    file: Path, written: str, begins: time, ends: time
) -> None:
    rule = read(file, f"{RULE}window = {written}\n").rules[0]
    assert rule.window == Window(begins=begins, ends=ends)


# --- warnings ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"{HOOK}{RULE}", 'line 1: no rule uses the hook "drain"'),
        (
            f'{RULE}[[rules]]\nname = "s"\ntypes = ["Reboot"]\napprove = "never"\n',
            'line 4: rule "s" never matches, because earlier rules match all its'
            ' events: "r"',
        ),
        (
            '[[rules]]\nname = "r"\n',
            'line 1: rule "r" has no `prepare` hooks, so it approves events as'
            ' soon as it sees them; set approve to "at-once" if this is intended,'
            ' or to "never" otherwise',
        ),
        (
            f'{USED}ready = "drain"\n',
            'line 3: rule "r" has a `ready` hook, which has no effect without together'
            ' = "when-ready"',
        ),
        (
            f'api_version = "2019-04-01"\n{RULE}sources = ["User"]\n',
            'line 2: rule "r" never matches, because api_version 2019-04-01 has no'
            " field for its condition sources",
        ),
        (
            f'api_version = "2017-08-01"\n{RULE}types = ["Preempt", "Freeze"]\n',
            (
                'line 2: rule "r" is for Preempt, which api_version 2017-08-01 does'
                " not include"
            ),
        ),
        (
            f"blind_after_seconds = 5\npoll_seconds = 3\n{RULE}",
            "line 2: the blindness alarm will turn on and off repeatedly, because"
            " blind_after_seconds (5) is less than twice poll_seconds (3)",
        ),
    ],
)
def test_an_unlikely_setting_causes_a_warning(file: Path, text: str, said: str) -> None:
    assert warnings(file, text) == [said]


def test_a_usual_file_causes_no_warning(file: Path) -> None:
    text = f'{USED}[[rules]]\nname = "s"\nconcerns = "others"\napprove = "never"\n'
    assert warnings(file, text) == []
