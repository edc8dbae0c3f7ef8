"""A small disk: a file system in memory, in a mount namespace of its own."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.patience import PATIENCE

_NAMESPACE = ("unshare", "--map-root-user", "--mount")
_MOUNT = 'mount -t tmpfs -o size=8m tmpfs "$1" && echo mounted && exec cat'


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDisk:
    """Eight megabytes that can be filled."""

    folder: Path  # as whoever is `within` sees it
    within: Sequence[str]  # put before a command, runs it where the disk is
    outside: Path  # as we see it

    @property
    def _ballast(self) -> Path:
        return self.outside / "ballast"

    def fill(self) -> None:
        """Leave no byte free."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (1024 * 1024, 4096, 1):
                _write_all(ballast.fileno(), b"x" * size)

    def free(self) -> None:
        """Leave room again."""
        self._ballast.unlink()

    def make_read_only(self) -> None:
        """Let nobody write from now on."""
        remount = ("mount", "-o", "remount,ro", str(self.folder))
        subprocess.run([*self.within, *remount], check=True, timeout=PATIENCE)


def _write_all(number: int, block: bytes) -> None:
    """Write `block` until there is no room for it."""
    try:
        while os.write(number, block) == len(block):
            pass
    except OSError:
        return


@contextmanager
def a_small_disk(folder: Path) -> Iterator[SmallDisk]:
    """Mount a small disk in `folder`; it is gone when the block ends."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("needs unshare and nsenter")
    with subprocess.Popen(
        [*_NAMESPACE, "sh", "-c", _MOUNT, "sh", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != b"mounted\n":
                pytest.skip("nobody may mount anything here")
            pid = str(holder.pid)
            yield SmallDisk(
                folder=folder,
                within=(
                    *("nsenter", "--target", pid, "--user", "--mount"),
                    "--preserve-credentials",
                ),
                outside=Path(f"/proc/{pid}/root{folder}"),
            )
        finally:
            holder.kill()
