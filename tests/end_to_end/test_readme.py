"""Commands in the README: the first event, and causes."""

import re
import shlex
import sys
from pathlib import Path

from benchmarks.first_event import ANNOUNCE, SERVE, play
from tests.end_to_end.program import run, serving

README = Path(__file__).parents[2] / "README.md"
COMMAND = re.compile(r"^\$ \.venv/bin/forewarn (.+)$", re.MULTILINE)


def test_two_commands_lead_to_the_first_event(tmp_path: Path) -> None:
    title = "## Quick start\n"
    section = README.read_text().split(title, 1)[1].split("\n## ", 1)[0]
    typed = re.findall(r"^\$ forewarn (.+)$", section, re.MULTILINE)
    words = [tuple(shlex.split(line, comments=True)) for line in typed]
    assert words == [SERVE, ANNOUNCE]
    took = play(Path(sys.executable).with_name("forewarn"), tmp_path)
    assert 0 < took.ready < took.announced < took.seen


def test_every_command_about_causes_works_as_described(tmp_path: Path) -> None:
    title = "## Announce maintenance by cause\n"
    section = README.read_text().split(title, 1)[1].split("\n## ", 1)[0]
    outputs = {}
    with serving(tmp_path, "--clock", "manual") as program:
        where = {"FOREWARN_URL": program.service.control, "COLUMNS": "80"}
        for line in COMMAND.findall(section):
            words = shlex.split(line, comments=True)
            done = run(tmp_path, *words, **where)
            assert (done.code, done.err) == (0, ""), line
            assert max(map(len, done.out.splitlines())) <= 80, line
            outputs[" ".join(words[:2])] = done.out
    assert outputs["vm restart"].startswith("announced: Reboot of web-0\n")
    assert "(in 15 min)" in outputs["vm restart"]
    assert outputs["vm evict"].startswith("announced: Preempt of batch_0\n")
    assert "(in 30 s)" in outputs["vm evict"]
    assert "batch_1 then leaves the fleet\n" in outputs["vm delete"]
    assert outputs["host maintain"].startswith("announced: Reboot of host-b (")
    assert "(in 1 h)" in outputs["host maintain"]
    assert outputs["host degraded"].startswith("announced (1 of 2): Redeploy of host-c")
    assert "(in 3 d)" in outputs["host degraded"]
    assert "immediately, without notice" in outputs["host failed"]
    assert outputs["host recovered"].startswith("ending after its minimum")
    assert outputs["maintenance explain"].startswith("The reboot of web-0 is scheduled")
    assert "  announced by admin: Reboot of web-0" in outputs["maintenance show"]
