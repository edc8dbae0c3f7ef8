"""The agent's report on what the real agent has recorded."""

import argparse
from pathlib import Path

import pytest
from tests.end_to_end.agents import an_agent
from tests.end_to_end.program import serving

from forewarn.cli import options
from forewarn.cli.guest import agent_report

FLEET = '[[vms]]\nname = "web-0"\n'
PLAN = """
[hooks.drain]
command = "echo all is drained"
[[rules]]
name = "all"
prepare = ["drain"]
"""


def test_the_report_on_a_reboot_is_complete(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet, folder = tmp_path / "fleet.toml", tmp_path / "vm"
    fleet.write_text(FLEET)
    with (
        serving(
            tmp_path,
            *("--clock", "x60", "--store", "memory"),
            fleet=fleet,
            FOREWARN_SHOWN_REBOOT="5",
        ) as program,
        an_agent(folder, f"{program.metadata[0]}/vm/web-0", PLAN) as agent,
    ):
        program.service.announce(vms=["web-0"], notice_seconds=4 * 3600)
        event = agent.wait_for("over")["event"]
    parser = argparse.ArgumentParser()
    agent_report.register(parser.add_subparsers())
    args = parser.parse_args(["report", event[:8], "--state", str(folder / "state")])
    options.apply_environment(args)
    assert args.run(args) == 0
    report = capsys.readouterr().out
    assert report.startswith(f"Reboot of web-0\n\n  event        {event}\n")
    for part in (
        'rule "all" matches',
        "prepare: drain succeeded",
        "| all is drained",
        "approved; the service answered 200",
        "This agent approved it",
        "Its hook succeeded.",
    ):
        assert part in report
