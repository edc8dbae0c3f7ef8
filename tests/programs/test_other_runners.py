"""The examples in examples/testing, each run by the test runner of its language."""

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand
from tests.programs.installed import (
    NODE_MODULES,
    PROGRAMS,
    needs,
    node_module,
    run_program,
)

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples" / "testing"

#: The handler of each example, and a mistake: it approves before it drains.
MISTAKES = {
    "go": ("handler.go", "\t\tdrain()\n", "\t\tdefer drain()\n"),
    "typescript": (
        "handler.ts",
        "    await drain();\n    await approve(event);\n",
        "    await approve(event);\n    await drain();\n",
    ),
}

ONLY_DRAINS = {"go": "-run=Drains", "typescript": "--test-name-pattern=drains"}


@pytest.fixture
def project(tmp_path: Path, runner: str) -> Path:
    """Return a copy of the example's folder, next to the scenario."""
    shutil.copytree(EXAMPLES, tmp_path / "testing")
    return tmp_path / "testing" / runner


def run_tests(project: Path, *options: str) -> FinishedCommand:
    """Run the tests of an example with its own test runner."""
    path = {"PATH": f"{sys.prefix}/bin:{os.environ['PATH']}"}
    if project.name == "go":
        cache = {"GOCACHE": str(PROGRAMS / "go"), "GOPROXY": "off"}
        return run_program(project, "go", "test", *options, "./...", **path, **cache)
    node_module("typescript")
    compiler = str(NODE_MODULES / "typescript" / "bin" / "tsc")
    # Without @types/node, types cannot be checked.
    built = run_program(project, "node", compiler, "--noCheck", "--types", "null")
    assert built.code == 0, built.out
    tests = ["--test-reporter=spec", *options, "out/handler.test.js"]
    return run_program(project, "node", "--test", *tests, **path)


RUNNERS = [
    pytest.param("go", marks=needs("go")),
    pytest.param("typescript", marks=needs("node")),
]


@pytest.mark.full
@pytest.mark.parametrize("runner", RUNNERS)
def test_tests_of_an_example_pass(project: Path) -> None:
    done = run_tests(project)
    assert done.code == 0, done.out + done.err


@pytest.mark.parametrize("runner", RUNNERS)
def test_failing_test_of_an_example_shows_the_verdict(
    project: Path, runner: str
) -> None:
    name, right, wrong = MISTAKES[runner]
    text = (project / name).read_text()
    assert text.count(right) == 1
    (project / name).write_text(text.replace(right, wrong))
    done = run_tests(project, ONLY_DRAINS[runner])
    assert done.code == 1, done.out + done.err
    assert "FAILED drains-first after" in done.out
    assert "before mark 'drained'" in done.out
    assert "timeline (service's clock, real time):" in done.out
