"""Documentation checked against the program."""

import os
import re
import runpy
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.core.queries.test_log_lines import FIELDS
from tests.end_to_end.test_log import START_FIELDS
from tests.programs.installed import needs

from forewarn.cli.contexts import ServiceContext, ServiceContexts, save
from forewarn.cli.main import main, parse
from forewarn.client import Change, Client, Instance, Reading
from forewarn.core.faults import FaultKind
from forewarn.core.lifecycle.model import Phase
from forewarn.core.lifecycle.transitions import TRANSITIONS
from forewarn.protocol.instance import COMPUTE, Shape
from forewarn.protocol.types import Document, ScheduledEvent

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "forewarn"


MAN_PAGES = sorted((ROOT / "docs" / "man").iterdir())


def test_reference_pages_are_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_reference.py"))
    for name, generated in module["pages"]().items():
        kept = (ROOT / "docs" / "reference" / name).read_text()
        assert kept.split() == generated.split(), (
            f"{name} is old; run scripts/reference"
        )


def test_completion_scripts_are_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_completion.py"))
    for name, generated in module["scripts"]().items():
        kept = (module["FOLDER"] / name).read_text()
        assert kept == generated, f"{name} is old; run scripts/reference"


def test_man_pages_are_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_man_pages.py"))
    kept = {page.name: page.read_text() for page in MAN_PAGES}
    assert kept == module["pages"](), "docs/man is old; run scripts/reference"


@needs("man")
@pytest.mark.parametrize("page", MAN_PAGES, ids=lambda page: page.name)
def test_man_page_is_valid_and_fits_a_terminal(page: Path) -> None:
    environment = {
        **os.environ,
        "LC_ALL": "C.UTF-8",
        "MANROFFSEQ": "",
        "MANWIDTH": "80",
    }
    command = ["man", "--warnings", "--encoding=UTF-8", "--local-file", str(page)]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert lines[0].startswith("FOREWARN")
    assert [line for line in lines if len(line) > 80] == []


def test_page_of_commands_is_complete_and_fits_a_terminal() -> None:
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    assert "### forewarn host recovered\n" in page  # the longest command
    assert "### forewarn token create\n" in page  # the last noun
    assert [line for line in page.splitlines() if len(line) > 80] == []


def test_fields_of_log_lines_are_documented() -> None:
    page = (ROOT / "docs" / "how-to" / "monitor.md").read_text()
    table = page.split("### Fields of JSON lines", 1)[1].split("\n\n", 3)[2]
    cells = [row.split("|")[1] for row in table.splitlines()[2:]]
    documented = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    of_facts = {name for names in FIELDS.values() for name in names.split()}
    always = {"time", "level", "logger", "message", "exception"}
    assert documented == of_facts | {*START_FIELDS} | always


@pytest.mark.slow
def test_incident_page_shows_the_real_output() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_incident_page.py"))
    kept = module["PAGE"].read_text()
    assert kept == module["page"](), "the page is old; run scripts/reference"


def test_lifecycle_diagram_is_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_lifecycle.py"))
    kept = module["FILE"].read_text()
    assert kept == module["diagram"](), "lifecycle.svg is old; run scripts/reference"


def test_lifecycle_diagram_has_every_phase_and_transition() -> None:
    drawn = ElementTree.parse(ROOT / "docs" / "explanation" / "lifecycle.svg")
    phases = [element.text or "" for element in drawn.iterfind(".//*[@class='phase']")]
    assert sorted(phases) == sorted(Phase)
    ways = [
        (element.get("data-from"), element.get("data-to"))
        for element in drawn.iterfind(".//*[@data-from]")
    ]
    assert sorted(ways) == sorted(
        (before, after) for before, to in TRANSITIONS.items() for after in to
    )


def test_architecture_lists_exactly_the_existing_packages() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    listing = text.split("## Packages", 1)[1].split("```text", 1)[1].split("```", 1)[0]
    listed = re.findall(r"^ *([a-z_.]+)  ", listing, re.MULTILINE)
    packages = {
        ".".join(path.parent.relative_to(SOURCE).parts)
        for path in SOURCE.rglob("__init__.py")
        if path.parent != SOURCE
    }
    assert sorted(listed) == sorted(packages | {"server.portal"})


def test_architecture_is_short_and_names_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert len(text.splitlines()) <= 200
    table = text.split("## Where to make a change", 1)[1]
    names = [name for name in re.findall(r"`([^` ]+)`", table) if "/" in name]
    assert [name for name in names if not _exists(name)] == []


def _exists(name: str) -> bool:
    """Whether every path of `folder/{one,other}` is a module, folder or file."""
    head, _, rest = name.partition("{")
    ends, _, tail = rest.partition("}")
    paths = [f"{head}{end}{tail}".rstrip("/…") for end in ends.split(",")]
    return all(
        any(path.exists() for path in (ROOT / at, SOURCE / at, SOURCE / f"{at}.py"))
        for at in paths
    )


def test_instance_page_has_the_real_date_of_every_value() -> None:
    text = (ROOT / "docs" / "reference" / "instance.md").read_text()
    compute = text.split("## compute", 1)[1].split("##", 1)[0]
    dated = re.findall(r"^\| `([\w.]+)` \| ([\d-]+) \|", compute, re.MULTILINE)
    assert dated == [*_dates(COMPUTE)]


def _dates(shape: Mapping[str, Shape], above: str = "") -> Iterator[tuple[str, str]]:
    for name, inner in shape.items():
        if isinstance(inner, dict):
            yield from _dates(inner, f"{above}{name}.")
        else:
            yield above + name, inner if isinstance(inner, str) else inner[0]


def test_page_of_faults_has_every_kind_and_no_other() -> None:
    page = (ROOT / "docs" / "how-to" / "inject-faults.md").read_text()
    section = page.partition("## Kinds of faults")[2].partition("\n## ")[0]
    kinds = re.findall(r"^\| `(\S+)` \|", section, re.MULTILINE)
    assert sorted(kinds) == sorted(FaultKind)


def test_client_page_has_every_method_and_field() -> None:
    page = (ROOT / "docs" / "reference" / "client.md").read_text()
    methods = re.findall(r"^\| `(\w+)(?:\(.*\))?` \|", page, re.MULTILINE)
    public = {name for name in dir(Client) if not name.startswith("_")}
    assert public <= set(methods)
    for kind in (Document, ScheduledEvent, Change, Instance, Reading):
        (row,) = re.findall(rf"^\| `{kind.__name__}` \|.*", page, re.MULTILINE)
        own = {item.name for item in fields(kind)} - {"paas"}  # not read by clients
        inherited = {"incarnation", "events"} if kind is Change else set()
        assert own - inherited <= set(re.findall(r"`(\w+)`", row)), kind


def test_compatibility_page_names_exactly_the_tests_of_programs() -> None:
    page = (ROOT / "docs" / "explanation" / "compatibility.md").read_text()
    sources = (ROOT / "tests" / "programs").glob("test_*.py")
    there = {
        name
        for source in sources
        for name in re.findall(r"^def (test_\w+)\(", source.read_text(), re.MULTILINE)
    }
    assert set(re.findall(r"`(test_\w+)`", page)) == there


PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_between_documents_resolves(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_page_can_be_reached_from_the_readme() -> None:
    reached, new = set[Path](), {ROOT / "README.md"}
    while new:
        reached |= new
        new = {linked for page in new for linked in _linked_pages(page)} - reached
    assert [*set(PAGES) - reached] == []


def _linked_pages(page: Path) -> Iterator[Path]:
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        if target.endswith(".md"):
            yield (page.parent / target).resolve()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_to_a_heading_resolves(page: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text())
    for target, anchor in links:
        linked = page.parent / target if target else page
        headings = re.findall(r"^#+ (.+)$", linked.read_text(), re.MULTILINE)
        assert anchor in map(_anchor, headings), f"{page.name}: {target}#{anchor}"


def _anchor(heading: str) -> str:
    """Return the anchor of a heading, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


#: Commands shown on the pages, except those that would change this machine.
ALL_TYPED = sorted(
    {
        typed
        for page in PAGES
        for typed in re.findall(
            r"^\$ (?:\.venv/bin/)?forewarn (?!serve|agent install)(.+)",
            page.read_text(),
            re.MULTILINE,
        )
    }
)


OF_MACHINE = [each for each in ALL_TYPED if each.startswith(("store ", "context "))]
REHEARSED = [each for each in ALL_TYPED if each.startswith("rehearse ")]
TYPED = [each for each in ALL_TYPED if each not in (*OF_MACHINE, *REHEARSED)]


@pytest.mark.parametrize("typed", REHEARSED)
def test_every_rehearsal_on_the_pages_is_valid(
    typed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    own, _, program = typed.partition(" > ")[0].partition(" -- ")
    code = main(shlex.split(own, comments=True))
    output = "".join(capsys.readouterr())
    if program:
        assert "no program to run" in output  # everything else was parsed
    else:
        assert code == 0 or "cannot read" in output  # there is no such file


@pytest.mark.parametrize("typed", OF_MACHINE)
def test_every_command_for_files_on_the_pages_is_valid(typed: str) -> None:
    assert parse(shlex.split(typed, comments=True)).run


@pytest.mark.parametrize("typed", TYPED)
def test_every_command_on_the_pages_is_valid(
    typed: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_TOKEN", "t")
    monkeypatch.setenv("FOREWARN_AGENT_CONFIG", str(tmp_path / "agent.toml"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    lab = ServiceContext(url="http://127.0.0.1:1")
    save(ServiceContexts(by_name={"lab": lab}), os.environ)
    assert main(shlex.split(typed, comments=True)) == 1
    message = "".join(capsys.readouterr())  # `doctor` reports problems as its output
    missing = ".toml" if typed.startswith("agent ") else "http://127.0.0.1:1"
    assert missing in message
    assert "usage:" not in message


def test_scripts_named_in_the_readme_are_executable() -> None:
    text = (ROOT / "README.md").read_text()
    for name in set(re.findall(r"scripts/(\w+)", text)):
        assert (ROOT / "scripts" / name).stat().st_mode & 0o111
