"""Tests of `forewarn agent explain`."""

import argparse
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from forewarn.cli import options
from forewarn.cli.guest import agent_explain
from forewarn.cli.main import main
from forewarn.cli.options import CommandParser
from forewarn.errors import InvalidInput

Capture = pytest.CaptureFixture[str]
Explain = Callable[..., str]

CONFIG = """\
name = "web-0"

[hooks.drain]
command = ["/usr/local/bin/drain", "--now"]

[hooks.say]
command = "logger going down | cat"

[hooks.quorum]
python = "our.cluster:ready"

[[rules]]
name = "short freezes"
types = ["Freeze"]
duration_seconds = {max = 9}
approve = "at-once"

[[rules]]
name = "reboots"
types = ["Reboot", "Redeploy"]
prepare = ["drain", "say"]
recover = ["say"]
parallel = true
together = "when-ready"
ready = "quorum"

[[rules]]
name = "others"
concerns = "anyone"
approve = "never"
"""

EVENT: dict[str, Any] = {
    "EventId": "602D9444-D2CD-49C7-8624-8643E7171297",
    "EventStatus": "Scheduled",
    "EventType": "Reboot",
    "ResourceType": "VirtualMachine",
    "Resources": ["web-1", "web-0"],
    "NotBefore": "Wed, 28 Jan 2026 12:15:00 GMT",
    "Description": "Host maintenance",
    "EventSource": "Platform",
    "DurationInSeconds": -1,
}
DOCUMENT = {"DocumentIncarnation": 3, "Events": [EVENT]}
NOON = ("--at", "2026-01-28T12:00:30Z")


def parsed(*words: str) -> argparse.Namespace:
    parser = CommandParser()
    agent_explain.register(parser.add_subparsers())
    args = parser.parse_args(["explain", *words])
    options.apply_environment(args)
    return args


@pytest.fixture
def explain(tmp_path: Path, capsys: Capture) -> Explain:
    """Explain `plain` with a parser of its own; return the output."""

    def run(plain: object, *words: str, config: str = CONFIG) -> str:
        (tmp_path / "agent.toml").write_text(config)
        document = tmp_path / "document.json"
        if not isinstance(plain, str):
            document.write_text(json.dumps(plain))
        name = plain if isinstance(plain, str) else str(document)
        args = parsed(name, "--config", str(tmp_path / "agent.toml"), *words)
        assert args.run(args) == 0
        return capsys.readouterr().out

    return run


def test_an_event_is_explained_from_its_rule_to_its_approval(explain: Explain) -> None:
    assert explain(DOCUMENT, *NOON) == (
        """\
Seen at 2026-01-28 12:00:30Z by web-0.

602D9444-D2CD-49C7-8624-8643E7171297: Reboot of web-1, web-0, Scheduled, by
    Platform
  Not before 2026-01-28 12:15:00Z, in 15 min.
  Rule "reboots" matches: its type is Reboot; it lists this VM.
    prepare (in parallel):
      drain: /usr/local/bin/drain --now
      say: logger going down | cat
    recover:
      say: logger going down | cat
    The event is approved after all prepare hooks have succeeded, when the
      quorum hook reports that all VMs are ready.
  Rule "short freezes" does not match: its type is Reboot, not Freeze; its
    duration is unknown.
  Rule "others" also matches, but comes later: it matches every event.
"""
    )


def test_no_line_is_wider_than_a_terminal(explain: Explain) -> None:
    many = {**EVENT, "Resources": [f"web-{number}" for number in range(100)]}
    output = explain({"Events": [many]}, *NOON)
    assert max(map(len, output.splitlines())) <= 80


def test_explanation_as_json(explain: Explain) -> None:
    explanation = json.loads(explain(DOCUMENT, *NOON, "--json"))
    assert (explanation["name"], explanation["at"]) == ("web-0", "2026-01-28T12:00:30Z")
    (event,) = explanation["events"]
    assert event == {
        "event": EVENT["EventId"],
        "mine": True,
        "notice_seconds": 870.0,
        "rule": "reboots",
        "why": ["its type is Reboot", "it lists this VM"],
        "hooks": {"prepare": ["drain", "say"], "recover": ["say"]},
        "approve": "after-hooks",
        "together": "when-ready",
        "rules": event["rules"],
    }
    assert [(rule["rule"], rule["holds"]) for rule in event["rules"]] == [
        ("short freezes", False),
        ("reboots", True),
        ("others", True),
    ]


def test_name_option_overrides_the_file(explain: Explain) -> None:
    output = explain(DOCUMENT, *NOON, "--name", "db")
    assert "by db." in output
    assert 'Rule "others" matches' in output


def test_host_name_is_used_and_mentioned_without_a_name(
    explain: Explain,
) -> None:
    output = explain(DOCUMENT, *NOON, config=CONFIG.replace('name = "web-0"', "", 1))
    assert "which is this machine's hostname" in output


def test_an_event_without_a_rule_is_left_alone(explain: Explain) -> None:
    config = '[[rules]]\nname = "r"\ntypes = ["Freeze"]\napprove = "never"\n'
    output = explain(DOCUMENT, *NOON, config=config)
    assert (
        "No rule matches: the agent neither runs hooks nor approves the event."
        in output
    )
    assert 'Rule "r" does not match: its type is Reboot, not Freeze' in output


def test_scripts_of_the_folder_are_shown(explain: Explain, tmp_path: Path) -> None:
    script = tmp_path / "scripts" / "onReboot.sh"
    script.parent.mkdir()
    script.write_text("#!/bin/sh\n")
    script.chmod(0o755)
    output = explain(DOCUMENT, *NOON, config='name = "web-0"\nscripts = "scripts"\n')
    assert 'Rule "onReboot.sh" matches' in output
    assert "by web-1, the first VM listed" in " ".join(output.split())


def test_single_event_is_explained(explain: Explain) -> None:
    assert 'Rule "reboots" matches' in explain(EVENT, *NOON)


def test_audit_line_gives_the_time_and_the_owner(explain: Explain) -> None:
    line = {
        "at": "2026-01-28T12:10:00Z",
        "event": EVENT["EventId"],
        "what": "seen",
        "event_as_shown": EVENT,
        "mine": True,
    }
    nameless = CONFIG.replace('name = "web-0"', "", 1)
    explanation = json.loads(explain(line, "--json", config=nameless))
    assert explanation["at"] == "2026-01-28T12:10:00Z"
    assert (
        explanation["events"][0]["mine"],
        explanation["events"][0]["notice_seconds"],
    ) == (
        True,
        300.0,
    )


def test_document_is_read_from_standard_input(
    explain: Explain, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = io.TextIOWrapper(io.BytesIO(json.dumps(DOCUMENT).encode()))
    monkeypatch.setattr("sys.stdin", content)
    assert 'Rule "reboots" matches' in explain("-", *NOON)


def test_started_event_is_not_prepared_for(explain: Explain) -> None:
    started = {**EVENT, "EventStatus": "Started", "NotBefore": ""}
    explanation = json.loads(explain(started, *NOON, "--json"))
    assert explanation["events"][0]["notice_seconds"] is None
    output = explain(started, *NOON)
    assert "prepare (all" not in output
    assert "    recover:\n" in output
    assert "The event has started, so there is nothing to approve." in output


def test_document_without_events_is_reported(explain: Explain) -> None:
    assert explain({"Events": []}, *NOON).endswith("\nNo events.\n")


def test_warnings_go_to_standard_error(tmp_path: Path, capsys: Capture) -> None:
    file, document = tmp_path / "agent.toml", tmp_path / "document.json"
    file.write_text(f'{CONFIG}[hooks.unused]\ncommand = "x"\n')
    document.write_text(json.dumps(DOCUMENT))
    args = parsed(str(document), "--config", str(file))
    args.run(args)
    warning = f'forewarn: {file}, line 31: no rule uses the hook "unused"\n'
    assert capsys.readouterr().err == warning


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ([], "is not a JSON object"),
        ({}, "contains neither Events nor an EventId"),
        ({"Events": 1}, "the document has no Events list"),
        ({"Events": [{}]}, "an entry in Events has no EventId"),
        ({"what": "gone", "event": "E"}, "audit log line without an event"),
    ],
)
def test_a_file_without_events_is_refused(
    explain: Explain, plain: object, said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        explain(plain)


def test_file_that_is_missing_or_not_json_is_refused(
    explain: Explain, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInput, match=r"cannot read .*x: no such file"):
        explain(str(tmp_path / "x"))
    (tmp_path / "x").write_text("<html>")
    with pytest.raises(InvalidInput, match="x is not a JSON document"):
        explain(str(tmp_path / "x"))


def test_config_path_comes_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOREWARN_AGENT_CONFIG", "/somewhere/agent.toml")
    monkeypatch.setenv("FOREWARN_CONFIG", "/the/service's")
    assert parsed("-").config == "/somewhere/agent.toml"


@pytest.mark.parametrize("words", [["explain", "{0}", "--config"], ["--config"]])
def test_config_option_is_allowed_before_or_after_the_subcommand(
    words: list[str], tmp_path: Path, capsys: Capture
) -> None:
    file, document = tmp_path / "agent.toml", tmp_path / "document.json"
    file.write_text(CONFIG)
    document.write_text(json.dumps(DOCUMENT))
    before = [word.format(document) for word in words]
    after = [] if "explain" in words else ["explain", str(document)]
    assert main(["agent", *before, str(file), *after]) == 0
    assert 'Rule "reboots" matches' in capsys.readouterr().out
