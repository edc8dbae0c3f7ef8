"""`forewarn serve` as a child process, and the resources that it uses."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

#: Admin token of the service; not secret, because the service runs only for minutes.
TOKEN = "benchmark"

DEMO = Path(__file__).parents[1] / "src" / "forewarn" / "demo.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeProcess:
    """A running `forewarn serve`."""

    process: subprocess.Popen[str]
    metadata: str  # host and port
    control: str  # host and port
    begun: float  # time of `time.perf_counter`

    @property
    def memory(self) -> int:
        """Resident memory in kB."""
        return resident(self.process.pid)

    @property
    def processor(self) -> float:
        """CPU seconds that it has used."""
        stat = Path(f"/proc/{self.process.pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def authorization(self) -> Mapping[str, str]:
        """Header of requests to the control plane."""
        return {"Authorization": f"Bearer {TOKEN}"}

    @property
    def files(self) -> int:
        """Number of open files, including sockets."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def resident(pid: int) -> int:
    """Return the resident memory of a process in kB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(x.split()[1]) for x in status.splitlines() if "VmRSS" in x)


@contextmanager
def serving(
    folder: Path, fleet: Path = DEMO, **environment: str
) -> Iterator[ServeProcess]:
    """Serve `fleet` on free ports, with all files in `folder`, until the block ends."""
    command = [sys.executable, "-m", "forewarn", "serve", "--json"]
    command += ["--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0"]
    mine = {"FOREWARN_STATE_DIR": str(folder), "FOREWARN_TOKEN": TOKEN}
    begun = time.perf_counter()
    process = subprocess.Popen(
        [*command, "--fleet", str(fleet)],
        env={**os.environ, **mine, **environment},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        if process.stdout is None:
            raise RuntimeError("the service has no output")
        addresses = json.loads(process.stdout.readline())
        yield ServeProcess(
            process=process,
            metadata=addresses["metadata"][0].removeprefix("http://"),
            control=addresses["control"].removeprefix("http://"),
            begun=begun,
        )
    finally:
        process.terminate()
        process.wait(10)
