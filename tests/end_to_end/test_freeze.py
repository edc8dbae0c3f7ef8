"""Freeze detection: a process measures for how long it was frozen."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.patience import PATIENCE

_WATCHING = """
import sys
from pathlib import Path

from tests.patience import PATIENCE
from forewarn.agent.telemetry.impact import AliveFile, FreezeDetector
detector = FreezeDetector(AliveFile(Path(sys.argv[1])))
detector.start()
print("watching", flush=True)
for _ in sys.stdin:
    print(detector.take().total, flush=True)
detector.stop()
"""


def test_a_freeze_of_a_second_is_detected_and_nothing_else(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _WATCHING, str(tmp_path / "alive")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "watching\n"
        child.send_signal(signal.SIGSTOP)
        time.sleep(0.95)  # the freeze itself
        child.send_signal(signal.SIGCONT)
        child.stdin.write("felt?\n")
        child.stdin.flush()
        assert float(child.stdout.readline()) > 0.6
        output, _ = child.communicate("and since?\n" * 20, timeout=PATIENCE)
        assert 0 in map(float, output.split())  # a busy machine may also freeze it
    assert child.returncode == 0
    assert (tmp_path / "alive").exists()
