"""Completion with the Tab key in bash, zsh and fish, with a real service."""

import json
import os
import pty
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import BinaryIO

import pytest
from tests.end_to_end.program import (
    FOREWARN,
    Program,
    environment_of,
    finish,
    run,
    serving,
)
from tests.patience import PATIENCE
from tests.programs.installed import needs

from forewarn.cli.contexts import ServiceContext, ServiceContexts, save

SHELLS = [pytest.param(shell, marks=needs(shell)) for shell in ("bash", "zsh", "fish")]

PressTab = Callable[[str], str]

TAB, PRINT = "\t", "\x07"  # keys; the second one is Ctrl-G

#: How to start each shell without the user's files. Ctrl-G prints and clears the line.
#: Ctrl-U could be lost, because the terminal handles it while no line is edited.
STARTS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "bash": (
        ("bash", "--norc", "--noprofile", "-i"),
        """\
bind 'set bell-style none'; bind 'set enable-bracketed-paste off'
print_line() {
  printf "line=[%s]\\n" "$READLINE_LINE"
  READLINE_LINE= READLINE_POINT=0
}
bind -x '"\\C-g": print_line'
source <(forewarn completion bash)
echo "is ""ready"
""",
    ),
    "zsh": (
        ("zsh", "-f", "-i"),
        """\
autoload -Uz compinit; compinit -u -D; unset zle_bracketed_paste
setopt no_always_last_prompt no_list_beep
print_line() { print -r -- "line=[$BUFFER]" > $TTY; BUFFER= }
zle -N print_line; bindkey '^G' print_line
source <(forewarn completion zsh)
echo "is ""ready"
""",
    ),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Serve the demo fleet; the current context is a service that does not exist."""
    folder = tmp_path_factory.mktemp("completion")
    with serving(folder, "--clock", "manual") as running:
        url, token = running.service.control, running.service.token
        contexts = {
            "down": ServiceContext(url="http://127.0.0.1:1", token=token),
            "staging": ServiceContext(url=url, token=token),
        }
        saved = ServiceContexts(current="down", by_name=contexts)
        save(saved, {"HOME": str(folder)})
        (folder / "fleet-copy.toml").touch()
        (folder / "bin").mkdir()
        wrapper = folder / "bin" / "forewarn"
        wrapper.write_text(f'#!/bin/sh\nexec {" ".join(FOREWARN)} "$@"\n')
        wrapper.chmod(0o755)
        yield running


@pytest.fixture(scope="module")
def maintenance(program: Program) -> str:
    """Announce maintenance, and return its ID."""
    words = ("announce", "reboot", "--vm", "web-0", "--context", "staging", "--json")
    done = run(program.folder, *words)
    (maintenance,) = json.loads(done.out)["maintenances"]
    return str(maintenance["id"])


@pytest.fixture(scope="module", params=SHELLS)
def press_tab(request: pytest.FixtureRequest, program: Program) -> Iterator[PressTab]:
    """Start a shell; type a command in it, press Tab, and return the line."""
    path = f"{program.folder / 'bin'}:{os.environ['PATH']}"
    variables = {"FOREWARN_TOKEN": None, "PATH": path, "TERM": "dumb"}
    environment = environment_of(program.folder, **variables)
    if request.param == "fish":
        yield partial(complete_in_fish, program, environment)
        return
    with a_terminal(request.param, program, environment) as terminal:

        def press(typed: str) -> str:
            terminal.write(f"{typed}{TAB}{PRINT}".encode())
            return read_until(terminal, r"line=\[(.*)\]").rstrip()

        yield press


def complete_in_fish(
    program: Program, environment: Mapping[str, str], typed: str
) -> str:
    words = f"forewarn completion fish | source; complete -C '{typed}'"
    done = finish(("fish", "--no-config", "-c", words), program.folder, environment)
    names = [line.partition("\t")[0] for line in done.out.splitlines()]
    return f"{typed[: typed.rindex(' ')]} {' '.join(names)}" if names else typed


@contextmanager
def a_terminal(
    shell: str, program: Program, environment: Mapping[str, str]
) -> Iterator[BinaryIO]:
    """Run a shell in a terminal until the block ends."""
    command, setup = STARTS[shell]
    (program.folder / "setup").write_text(setup)
    outer, inner = pty.openpty()
    with (
        closing(os.fdopen(outer, "r+b", buffering=0)) as terminal,
        subprocess.Popen(
            command,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            cwd=program.folder,
            env=environment,
            start_new_session=True,
        ) as process,
    ):
        os.close(inner)
        try:
            terminal.write(b"source ./setup\n")
            read_until(terminal, "is ready")
            yield terminal
        finally:
            process.kill()


def read_until(terminal: BinaryIO, pattern: str) -> str:
    """Read from a terminal until the output contains `pattern`; return the group."""
    output = ""
    deadline = time.monotonic() + PATIENCE
    while True:
        if match := re.search(pattern, output):
            return match[match.lastindex or 0]
        left = max(0, deadline - time.monotonic())
        ready, _, _ = select.select([terminal], [], [], left)
        assert ready, output
        output += os.read(terminal.fileno(), 4096).decode(errors="replace")


#: What is typed, and the line after pressing Tab.
CASES: Mapping[str, str] = {
    "forewarn anno": "forewarn announce",
    "forewarn vm rest": "forewarn vm restart",
    "forewarn help hea": "forewarn help health",
    "forewarn vm restart --not-b": "forewarn vm restart --not-before",
    "forewarn vm restart db-0 -o js": "forewarn vm restart db-0 -o json",
    "forewarn announce redep": "forewarn announce redeploy",
    "forewarn fleet apply fleet-c": "forewarn fleet apply fleet-copy.toml",
    "forewarn rehearse --show host-f": "forewarn rehearse --show host-failure",
    "forewarn context use st": "forewarn context use staging",
    "forewarn vm restart db": "forewarn vm restart db",
    "bin/forewarn vm restart --context staging db": (
        "bin/forewarn vm restart --context staging db-0"
    ),
    "forewarn announce reboot --url {url} --token {token} --vm web-0,d": (
        "forewarn announce reboot --url {url} --token {token} --vm web-0,db-0"
    ),
    "forewarn journal --context staging --maintenance {start}": (
        "forewarn journal --context staging --maintenance {id}"
    ),
}


@pytest.mark.parametrize("typed", CASES)
def test_tab_completes_the_last_word(
    press_tab: PressTab, program: Program, maintenance: str, typed: str
) -> None:
    values = {
        "url": program.service.control,
        "token": program.service.token,
        "id": maintenance,
        "start": maintenance[:-1],
    }
    expected = CASES[typed].format(**values)
    lines: list[str] = []
    while expected not in lines and len(lines) < 5:  # a busy machine may be too slow
        lines.append(press_tab(typed.format(**values)))
    assert expected in lines
