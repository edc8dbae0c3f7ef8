"""Transcript in docs/how-to/handle-an-incident.md, from a real run of its commands.

`scripts/reference` runs this; a test fails if the page is out of date.

1. The page itself contains everything: the fleet file and the driver, the commands, and
   hidden commands in comments, which move the clock or act as a VM.
2. The service has a manual clock, which is first advanced to 03:12 on a distant day, so
   that the times are the same in every run. The date, GUIDs and port are replaced.
"""

import os
import pty
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

PAGE = Path(__file__).parent / "how-to" / "handle-an-incident.md"

_DISTANT_DATE = "2100-01-15"
_DATE = "2026-01-15"
_GUIDS = (
    "3F2A6C1E-52F3-4C6D-9E8F-1B2A3C4D5E6F",
    "8C5D8D2F-63A4-4D7E-8F90-2C3B4D5E6F70",
    "2C6D9E30-74B5-4E8F-90A1-3D4C5E6F7081",
    "E07EAF41-85C6-4F90-A1B2-4E5D6F708192",
    "95B8C0D1-2F6E-4A53-B7C4-5F607182930A",
    "B1D2E3F4-3A7F-4B64-8CD5-60718293A4B5",
    "D4E5F607-4B80-4C75-9DE6-718293A4B5C6",
)
_TIMEOUT = 30.0  # seconds for each command

_TRANSCRIPT_END = "\n## Repeat this incident\n"
_PART = re.compile(
    r"^<!-- hidden: (?P<hidden>.*?) -->$"
    r"|^```console\n(?P<console>.*?)^```$"
    r"|^```text log\n(?P<log>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
_GUID = re.compile(r"\b[0-9A-F]{8}-(?:[0-9A-F]{4}-){3}[0-9A-F]{12}\b")
_LOG_TIME = re.compile(r"^\d\d:\d\d:\d\dZ", re.MULTILINE)


def page() -> str:
    """Return the page with the output of every command."""
    text = PAGE.read_text()
    transcript, end, setup = text.partition(_TRANSCRIPT_END)
    with tempfile.TemporaryDirectory() as folder:
        for name, language in (("fleet.toml", "toml"), ("move.sh", "bash")):
            block = re.search(rf"```{language}\n(.*?)```", setup, re.DOTALL)
            assert block is not None
            (Path(folder) / name).write_text(block[1])
        (Path(folder) / "move.sh").chmod(0o755)
        with _Incident(Path(folder)).running() as incident:
            shown = _PART.sub(incident.part, transcript)
    return f"{incident.normalized(shown)}{end}{setup}"


class _Incident:
    """A service with the page's fleet and driver, and a shell next to it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._variables: Mapping[str, str] = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "HOME": str(folder),
            "FOREWARN_STATE_DIR": str(folder / "state"),
            "COLUMNS": "80",
            "NO_COLOR": "1",
        }

    @contextmanager
    def running(self) -> Iterator["_Incident"]:
        """Serve until the block ends."""
        leader, follower = pty.openpty()  # so that the log has the format of terminals
        command = "forewarn serve --fleet fleet.toml --store memory --clock manual"
        command += " --driver script --driver-command ./move.sh --log-level error"
        command += " --metadata 127.0.0.1:0 --control 127.0.0.1:0"
        process = subprocess.Popen(
            command.split(),
            cwd=self._folder,
            env={**self._variables},
            stdout=subprocess.PIPE,
            stderr=follower,
            text=True,
        )
        os.close(follower)
        try:
            assert process.stdout is not None
            metadata, control = (process.stdout.readline().split()[1] for _ in range(2))
            self._leader = leader
            self._control = control
            self._variables = {**self._variables, "METADATA": metadata}
            self._run("forewarn health --wait 20s")
            self._run(f"forewarn clock advance {_DISTANT_DATE}T03:12:00Z")
            for vm in ("web-0", "web-1", "db-0"):
                self._run(f"curl -sS -H Metadata:true {_document(metadata, vm)}")
            yield self
        finally:
            process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()
            os.close(leader)

    def part(self, match: re.Match[str]) -> str:
        """Return a part of the page with current output."""
        if match["hidden"] is not None:
            self._run(match["hidden"])
            return match[0]
        if match["log"] is not None:
            return f"```text log\n{self._read_log()}```"
        lines = match["console"].splitlines()
        commands = [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]
        shown = [f"$ {command}\n{self._run(command)}" for command in commands]
        return "```console\n" + "\n".join(shown) + "```"

    def normalized(self, text: str) -> str:
        """Replace what differs between runs."""
        guids: dict[str, str] = {}
        text = _GUID.sub(
            lambda match: guids.setdefault(match[0], _GUIDS[len(guids)]), text
        )
        text = text.replace(_DISTANT_DATE, _DATE).replace(str(self._folder), "~")
        return text.replace(self._control, "http://127.0.0.1:8255")

    def _run(self, command: str) -> str:
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=self._folder,
            env={**self._variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT,
            check=False,
        )
        return done.stdout + done.stderr

    def _read_log(self) -> str:
        """Return what the service has logged, with the time of its own clock."""
        os.set_blocking(self._leader, False)
        until, text = time.monotonic() + _TIMEOUT, ""
        while not text.endswith("\n") and time.monotonic() < until:
            try:
                text += os.read(self._leader, 65536).decode().replace("\r\n", "\n")
            except BlockingIOError:
                time.sleep(0.05)
        (failed,) = re.findall(
            r"\d\d:\d\d:\d\d(?=Z)",
            self._run("forewarn journal --fact WorkFailed --last 1"),
        )
        return _LOG_TIME.sub(f"{failed}Z", text)


def _document(metadata: str, vm: str) -> str:
    path = f"/vm/{vm}/metadata/scheduledevents?api-version=2020-07-01"
    return f"'{metadata}{path}'"


if __name__ == "__main__":
    PAGE.write_text(page())
