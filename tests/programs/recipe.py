"""A hook of examples/agent, run as the agent would, with stub commands.

A stub logs its arguments, then does what the test wants.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.drivers.scripts import write_script
from tests.end_to_end.program import FinishedCommand
from tests.programs.installed import run_program

RECIPES = Path(__file__).parents[2] / "examples" / "agent"
EVENT = "C7061BAC-AFDC-4513-B24B-AA5F13A16123"
OTHER = "D0000000-AFDC-4513-B24B-AA5F13A16123"

_STUB = """\
#!/usr/bin/env bash
printf '%s\\n' "$(basename "$0")${{*:+ $*}}" >>{calls}
{does}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnvironment:
    """A VM with some commands, and the hook under test."""

    folder: Path
    hook: Path
    variables: Mapping[str, str]  # of each run

    def stub(self, command: str, does: str = "") -> None:
        """Create a stub `command` that runs `does` in bash."""
        bin_ = self.folder / "bin"
        bin_.mkdir(exist_ok=True)
        calls = shlex.quote(str(self._calls))
        write_script(bin_ / command, _STUB.format(calls=calls, does=does))

    def run(
        self, step: str, *, left: int = 60, event: str = EVENT, **environment: str
    ) -> FinishedCommand:
        """Run the hook with `left` seconds, on a clock that is 60 times as fast."""
        variables = {
            "PATH": f"{self.folder / 'bin'}:/usr/sbin:/usr/bin:/sbin:/bin",
            "FOREWARN_STEP": step,
            "FOREWARN_EVENT_ID": event,
            "FOREWARN_EVENT_TYPE": "Reboot",
            "FOREWARN_EVENT_STATUS": "Scheduled",
            "FOREWARN_EVENT_SOURCE": "Platform",
            "FOREWARN_EVENT_DESCRIPTION": "Host server is undergoing maintenance.",
            "FOREWARN_EVENT_DURATION": "-1",
            "FOREWARN_NOT_BEFORE": "2030-01-01T00:00:00Z",
            "FOREWARN_RESOURCES": "web-0",
            "FOREWARN_NAME": "web-0",
            "FOREWARN_RULE": "a rule",
            "FOREWARN_SECONDS_LEFT": str(left * 60),
            "FOREWARN_REAL_SECONDS_LEFT": f"{left}.125",
            "PAUSE": "0.02",
            **self.variables,
            **environment,
        }
        return run_program(self.folder, str(self.hook), typed="{}", **variables)

    def calls(self) -> Sequence[str]:
        """Return the calls of the stubs since the previous call of this method.

        Timeouts of almost a minute are rounded up to 60 s, since some time may have
        passed.
        """
        if not self._calls.exists():
            return []
        lines = self._calls.read_text().splitlines()
        self._calls.unlink()
        return [re.sub(r"\b5[0-9]s$", "60s", line) for line in lines]

    def write(self, name: str, text: str) -> Path:
        """Create a file."""
        path = self.folder / name
        path.write_text(text)
        return path

    @property
    def _calls(self) -> Path:
        return self.folder / "calls"


def an_environment(folder: Path, hook: str, **variables: str) -> HookEnvironment:
    """Return an environment for the hook at a path below examples/agent."""
    return HookEnvironment(folder=folder, hook=RECIPES / hook, variables=variables)
