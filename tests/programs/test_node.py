"""Node's HTTP clients: http with its agents, fetch, node-fetch and axios."""

from pathlib import Path

import pytest
from tests.end_to_end.program import Program
from tests.programs.installed import NODE_MODULES, needs, node_module, run_program
from tests.programs.poller import check_poller
from tests.programs.record import url_of

pytestmark = [pytest.mark.full, needs("node")]

POLL = Path(__file__).parent / "node" / "poll.js"
OF_NPM = ("axios", "node-fetch")
HAS_FETCH = "process.exit(typeof fetch === 'function' ? 0 : 1)"


@pytest.mark.parametrize("way", ["keep-alive", "close", "no agent", "fetch", *OF_NPM])
def test_a_program_handles_a_complete_event(
    program: Program, tmp_path: Path, way: str
) -> None:
    if way in OF_NPM:
        node_module(way)
    elif run_program(tmp_path, "node", "-e", HAS_FETCH).code != 0:
        pytest.skip("needs Node 18 or newer")
    command = ["node", str(POLL), way, url_of(program, "db-0")]
    check_poller(program, "db-0", command, tmp_path, NODE_PATH=str(NODE_MODULES))
