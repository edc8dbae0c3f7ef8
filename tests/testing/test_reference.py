"""The reference page of the pytest fixture: complete and nothing else."""

import inspect
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.patience import PATIENCE
from tests.testing.support.actors import an_actor

from forewarn.testing import Event, Rehearsal
from forewarn.testing.plugin import scheduled_events

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "pytest.md").read_text()

#: Public classes by the name under which they are imported.
KINDS: Mapping[str, type] = {"Rehearsal": Rehearsal, "Event": Event}

#: Attributes used only for playing scenarios.
ELSEWHERE = re.compile(r"service|too_early")


def the_part(title: str) -> str:
    return PAGE.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def names(part: str) -> set[str]:
    """Return the names in the first column of the tables, without arguments."""
    cells = re.findall(r"^\| ([^|]+) \|", part, re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)", cell)}


@pytest.mark.parametrize("kind", KINDS)
def test_page_lists_exactly_the_public_attributes(kind: str) -> None:
    public = {name for name in dir(KINDS[kind]) if not name.startswith("_")}
    expected = {name for name in public if not ELSEWHERE.fullmatch(name)}
    own = {"id"} if kind == "Event" else set()  # set on instances, so not in dir()
    assert names(the_part(kind)) == expected | own


def test_page_lists_every_keyword_of_the_marker() -> None:
    taken = inspect.signature(Rehearsal.__init__).parameters
    assert names(the_part("Marker")) == {*taken} - {"self"}


@pytest.mark.parametrize("kind", KINDS)
def test_page_shows_the_real_defaults(kind: str) -> None:
    shown = re.findall(r"`(\w+)\((.*?)\)`", the_part(kind))
    for name, arguments in shown:
        method = inspect.signature(getattr(KINDS[kind], name))
        defaults = {
            parameter.name: parameter.default
            for parameter in method.parameters.values()
        }
        for keyword, default in re.findall(r"(\w+)=([^,]+)", arguments):
            assert repr(defaults[keyword]) == default.replace('"', "'"), (name, keyword)


EXAMPLES = {
    name: f"# {name}\n{text}"
    for name, text in re.findall(
        r"^```python\n# ([\w.]+)\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL
    )
}


@pytest.fixture
def handler(tmp_path: Path) -> Path:
    """Return the program of the examples without pytest, which are next to it."""
    for name, text in EXAMPLES.items():
        (tmp_path / name).write_text(text)
    return tmp_path / "handler.py"


def run_example(handler: Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(handler.parent / name)]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, cwd="/"
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", EXAMPLES)
def test_example_without_pytest_passes_with_a_program_that_drains(
    handler: Path, name: str
) -> None:
    drains = "print('drained')\nfor event in scheduled(): approve(event)"
    handler.write_text(f"{an_actor(drains)[-1]}\ntime.sleep(600)")
    done = run_example(handler, name)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_example_of_unittest_fails_as_shown(handler: Path) -> None:
    handler.write_text('raise SystemExit("no disk")')
    done = run_example(handler, "test_unittest.py")
    (shown,) = re.findall(r"^```text\n(FAIL.+?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    lines = [_plain(line) for line in done.stderr.splitlines()]
    assert "\n".join(map(_plain, shown.splitlines())) in "\n".join(lines)


def _plain(line: str) -> str:
    """Remove what varies: the module, folders, ids and times."""
    line = re.sub(r"\((test_unittest|__main__)\.", "(", line)
    line = re.sub(r'"/.*/', '"/', line)
    line = re.sub(r"Preempt [0-9A-F]{8}", "Preempt ID", line)
    return re.sub(r" (less than )?[0-9.]+ s$", " N s", line)


def test_fixture_has_a_docstring_that_explains_it() -> None:
    assert "Start a service for the test" in (inspect.getdoc(scheduled_events) or "")
