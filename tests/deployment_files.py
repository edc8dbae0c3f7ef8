"""Parsers for the Dockerfile, the Compose file and the CI workflow.

They also find every command line in which one of these files runs `forewarn`.
"""

import json
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from forewarn.config.load import SettingSources, load
from forewarn.config.settings import Config

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "Dockerfile"
COMPOSE = ROOT / "examples" / "compose" / "compose.yaml"
WORKFLOW = ROOT / "examples" / "github-actions" / "rehearse.yaml"
PAGES = [
    ROOT / "docs" / "how-to" / name
    for name in ("run-in-a-container.md", "rehearse-in-ci.md")
]

_PROGRAM = "forewarn"

#: Words that end a command in a shell.
_ENDS = frozenset({"&", "&&", "|", "||", ";", ">", ">>", "2>&1", "#"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """An instruction of a Dockerfile."""

    word: str
    rest: str

    @property
    def words(self) -> Sequence[str]:
        """Return the words, without options of the instruction itself."""
        return [word for word in self.rest.split() if not word.startswith("--")]

    @property
    def array(self) -> Sequence[str]:
        """Return the JSON array in the instruction."""
        items: Sequence[str] = json.loads(self.rest[self.rest.index("[") :])
        return items


def instructions() -> Sequence[Instruction]:
    """Parse the Dockerfile."""
    lines = [
        line
        for line in DOCKERFILE.read_text().splitlines()
        if line.strip() and not line.startswith("#")
    ]
    text = "\n".join(lines).replace("\\\n", " ")
    parted = [line.split(maxsplit=1) for line in text.splitlines()]
    return [Instruction(word=word, rest=rest) for word, rest in parted]


def instructions_with(word: str) -> Sequence[Instruction]:
    """Return every instruction that begins with `word`."""
    return [instruction for instruction in instructions() if instruction.word == word]


def only(word: str) -> Instruction:
    """Return the only instruction that begins with `word`."""
    (instruction,) = instructions_with(word)
    return instruction


def image_environment() -> Mapping[str, str]:
    """Return the variables that the image sets."""
    return dict(pair.split("=", 1) for pair in shlex.split(only("ENV").rest))


def copied_files() -> Sequence[str]:
    """Return the files and folders of this repository that the image copies."""
    copies = instructions_with("COPY")
    return [
        name for copy in copies if "--from" not in copy.rest for name in copy.words[:-1]
    ]


def compose() -> Any:
    """Parse the Compose file."""
    return yaml.safe_load(COMPOSE.read_text())


def parts_of(volume: str) -> tuple[str, str]:
    """Split a volume into its source and its target."""
    source, target, *_ = volume.split(":")
    return source, target


def config_of(*environments: Mapping[str, str]) -> Config:
    """Load the settings as the service would in a container."""
    merged = {
        name: value
        for environment in environments
        for name, value in environment.items()
    }
    return load(SettingSources(environment=merged))


def workflow() -> Any:
    """Parse the workflow."""
    return yaml.safe_load(WORKFLOW.read_text())


def steps() -> Iterator[Mapping[str, Any]]:
    """Yield every step of every job."""
    for job in workflow()["jobs"].values():
        yield from job["steps"]


# --- commands ----------------------------------------------------------------


def command_lines() -> Mapping[str, Sequence[str]]:
    """Return every command line of forewarn, keyed by its location."""
    lines = [
        *_of_dockerfile(),
        *_of_compose(),
        *_of_workflow(),
        *(line for page in PAGES for line in _of_page(page)),
    ]
    return {f"{place}: {shlex.join(words)}": words for place, words in lines}


def _of_dockerfile() -> Iterator[tuple[str, Sequence[str]]]:
    entry = only("ENTRYPOINT").array
    yield "Dockerfile", _arguments([*entry, *only("CMD").array])
    yield "Dockerfile", _arguments(only("HEALTHCHECK").array)


def _of_compose() -> Iterator[tuple[str, Sequence[str]]]:
    entry = only("ENTRYPOINT").array
    for service in compose()["services"].values():
        if service.get("image") == _PROGRAM and "command" in service:
            yield COMPOSE.name, _arguments([*entry, *service["command"]])
        if "healthcheck" in service:
            kind, *words = service["healthcheck"]["test"]
            assert kind == "CMD"
            yield COMPOSE.name, _arguments(words)


def _of_workflow() -> Iterator[tuple[str, Sequence[str]]]:
    for step in steps():
        for line in step.get("run", "").splitlines():
            yield from _of_line(WORKFLOW.name, line)


def _of_page(page: Path) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the forewarn commands that a page shows."""
    for block in re.findall(r"^```\w+\n(.*?)^```", page.read_text(), re.M | re.S):
        for line in block.replace("\\\n", " ").splitlines():
            yield from _of_line(page.name, line.removeprefix("$ "))


def _of_line(place: str, line: str) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the command in a line; the last one in `docker exec NAME forewarn ...`."""
    cut: list[str] = []
    for word in shlex.split(line, comments=True):
        if word in _ENDS:
            break
        cut.append(word)
    is_exec = "exec" in cut[:3]
    if cut[:1] == [_PROGRAM] or (is_exec and _PROGRAM in cut):
        yield place, cut[len(cut) - cut[::-1].index(_PROGRAM) :]


def _arguments(words: Sequence[str]) -> Sequence[str]:
    program, *rest = words
    assert program == _PROGRAM
    return rest


# --- variables ---------------------------------------------------------------


def variables() -> Mapping[str, Sequence[str]]:
    """Return the names of forewarn's variables in each file."""
    files = [DOCKERFILE, COMPOSE, WORKFLOW, *PAGES]
    pattern = re.compile(r"\bFOREWARN_[A-Z0-9_]+")
    return {
        file.name: sorted({*pattern.findall(file.read_text())} - {"FOREWARN_"})
        for file in files
    }
