"""Shell tools: curl, wget, busybox, netcat, plain bash, perl and ruby."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.end_to_end.program import Program
from tests.programs.installed import needs, run_program
from tests.programs.poller import check_poller
from tests.programs.record import url_of

SCRIPTS = Path(__file__).parent / "shell"
TOOLS = ["bash", "busybox", "curl", "nc", "perl", "ruby", "wget"]

#: Commands that fail if an installed tool lacks a module.
WHOLE: Mapping[str, tuple[str, ...]] = {
    "perl": ("perl", "-MHTTP::Tiny", "-e", "1"),
    "ruby": ("ruby", "-rnet/http", "-e", "1"),
}


@pytest.mark.parametrize(
    "tool", [pytest.param(each, marks=needs("bash", each)) for each in TOOLS]
)
def test_a_script_handles_a_complete_event(
    program: Program, tmp_path: Path, tool: str
) -> None:
    if tool in WHOLE and run_program(tmp_path, *WHOLE[tool]).code != 0:
        pytest.skip(f"needs a complete {tool}")
    poll, way = SCRIPTS / "poll.sh", SCRIPTS / f"{tool}.sh"
    command = ["bash", str(poll), url_of(program, "db-0"), str(way)]
    check_poller(program, "db-0", command, tmp_path)
