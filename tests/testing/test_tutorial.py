"""The tutorial: its code blocks run as shown."""

import re
from pathlib import Path

import pytest

from forewarn.testing import Event, Rehearsal

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial" / "survive-a-reboot.md").read_text()

#: Code blocks that begin with the name of their file.
FILES = {
    name: f"# {name}\n{text}"
    for name, text in re.findall(
        r"^```\w+\n# ([\w.]+)\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
}
PLUGINS = ("-p", "forewarn.testing.plugin", "-p", "xdist.plugin")

#: The mistakes on the page, in the order of the failures that it shows.
MISTAKES = (
    (
        "            drain()\n            approve(event)\n",
        "            approve(event)\n            drain()\n",
    ),
    ("import json\n", "import jsn\n"),
)


@pytest.fixture
def project(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """Write the files of the page; load only this plugin and xdist."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nfilterwarnings = error\n")
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    return pytester


def test_page_has_a_program_and_a_test_of_at_most_ten_lines() -> None:
    assert sorted(FILES) == [
        "handler.py",
        "handler.sh",
        "test_handler.py",
        "test_more.py",
        "test_shell.py",
    ]
    lines = FILES["test_handler.py"].splitlines()
    assert len([line for line in lines if line and not line.startswith("#")]) <= 10


def test_methods_used_on_the_page_exist() -> None:
    for name in re.findall(r"scheduled_events\.(\w+)\(", PAGE):
        assert hasattr(Rehearsal, name)
    for name in re.findall(r"\bevent\.(\w+)\(", PAGE):
        assert hasattr(Event, name)


def test_tutorial_runs_sequentially(project: pytest.Pytester) -> None:
    result = project.runpytest_inprocess(*PLUGINS, "-q")
    result.assert_outcomes(passed=5)


def test_tutorial_runs_in_four_workers(project: pytest.Pytester) -> None:
    result = project.runpytest_subprocess(*PLUGINS, "-n", "4")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(["*4 workers*"])


@pytest.mark.parametrize("number", range(len(MISTAKES)))
def test_failure_shown_on_the_page_is_real(
    project: pytest.Pytester, number: int
) -> None:
    handler = project.path / "handler.py"
    text, (right, wrong) = handler.read_text(), MISTAKES[number]
    assert text.count(right) == 1
    handler.write_text(text.replace(right, wrong))
    result = project.runpytest_inprocess(*PLUGINS, "-q", "test_handler.py")
    result.assert_outcomes(failed=1)
    shown = re.findall(r"^```text\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    seen = [_plain(line) for line in result.outlines]
    for line in map(_plain, shown[number].splitlines()):
        assert line in seen


def _plain(line: str) -> str:
    """Remove what varies: ids, folders, and times."""
    line = re.sub(r"Reboot [0-9A-F]{8}", "Reboot ID", line)
    line = re.sub(r'"/.*/handler', '"/handler', line)
    return re.sub(r" (less than )?[0-9.]+ s( |$)", " N s ", line).rstrip()
