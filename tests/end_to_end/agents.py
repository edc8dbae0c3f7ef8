"""The real agent as a separate process, and the files it leaves on disk."""

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.end_to_end.program import FOREWARN, environment_of, until
from tests.patience import PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """A running `forewarn agent`."""

    folder: Path
    state: Path
    process: subprocess.Popen[bytes]

    @property
    def log(self) -> str:
        """Return everything that it has logged."""
        return (self.folder / "log").read_text()

    def lines(self, *what: str) -> list[Mapping[str, Any]]:
        """Return the audit entries of the kinds `what`, or all entries."""
        path = self.state / "audit.jsonl"
        if not path.exists():
            return []
        written, _, _ = path.read_text().rpartition("\n")  # one line may be incomplete
        whole = [json.loads(line) for line in written.splitlines() if line]
        return [line for line in whole if not what or line["what"] in what]

    def entry_kinds(self) -> list[str]:
        """Return the kinds of all audit entries about events, in order."""
        return [line["what"] for line in self.lines() if line["event"]]

    def wait_for(self, what: str, times: int = 1, seconds: float = PATIENCE) -> Any:
        """Wait for `times` audit entries of a kind, and return the last one."""
        until(lambda: len(self.lines(what)) >= times, seconds)
        return self.lines(what)[-1]

    def wait_until_it_reads(self) -> None:
        """Wait until the agent has read a document."""
        self.wait_for_log("reading documents from")

    def wait_for_log(self, text: str, seconds: float = PATIENCE) -> None:
        """Wait until `text` is in the log."""
        until(lambda: text in self.log, seconds)

    def stop(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(PATIENCE)


def a_plan(folder: Path, endpoint: str | None, text: str, **top: object) -> Path:
    """Write an agent's configuration: endpoint, state folder, `top`, then `text`."""
    keys = {"state": str(folder / "state"), **top}
    if endpoint is not None:
        keys["endpoint"] = endpoint
    file = folder / "agent.toml"
    lines = [f"{name} = {json.dumps(value)}\n" for name, value in keys.items()]
    file.write_text("".join(lines) + text)
    return file


@contextmanager
def an_agent(
    folder: Path,
    endpoint: str | None,
    text: str,
    *options: str,
    top: Mapping[str, object] | None = None,
    within: Sequence[str] = (),
    **environment: str | None,
) -> Iterator[Agent]:
    """Run an agent with the configuration `text` until the block ends.

    `within` is a command prefix, such as one that enters a namespace.
    """
    folder.mkdir(exist_ok=True)
    file = a_plan(folder, endpoint, text, **(top or {}))
    command = [*within, *FOREWARN, "agent", "--config", str(file), *options]
    with (folder / "log").open("ab") as log:
        process = subprocess.Popen(
            command,
            env=environment_of(folder, FOREWARN_TOKEN=None, **environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
        )
    try:
        below = "dry-run" if "--dry-run" in options else ""
        state = folder / "state" / below
        yield Agent(folder=folder, state=state, process=process)
    finally:
        process.kill()
        process.wait(PATIENCE)
