"""A small disk that can be filled: a tmpfs in its own mount namespace."""

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
_MOUNT = 'mount -t tmpfs -o size="$2"m tmpfs "$1" && echo mounted && exec cat'


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallDisk:
    """A disk of a few megabytes."""

    folder: Path  # path inside the namespace
    within: Sequence[str]  # command prefix that enters the namespace
    outside: Path  # path from outside the namespace

    @property
    def _ballast(self) -> Path:
        return self.outside / "ballast"

    def fill(self) -> None:
        """Fill the disk to the last byte."""
        with self._ballast.open("ab", buffering=0) as ballast:
            for size in (1024 * 1024, 4096, 1):
                _write_all(ballast.fileno(), b"x" * size)

    def free(self) -> None:
        """Free the space again."""
        self._ballast.unlink()

    def make_read_only(self) -> None:
        """Remount the disk read-only."""
        remount = ("mount", "-o", "remount,ro", str(self.folder))
        subprocess.run([*self.within, *remount], check=True, timeout=PATIENCE)


def _write_all(number: int, block: bytes) -> None:
    """Write `block` repeatedly until the disk has no room for it."""
    try:
        while os.write(number, block) == len(block):
            pass
    except OSError:
        return


@contextmanager
def a_small_disk(folder: Path, megabytes: int = 8) -> Iterator[SmallDisk]:
    """Mount a small disk at `folder` until the block ends."""
    if shutil.which("unshare") is None or shutil.which("nsenter") is None:
        pytest.skip("needs unshare and nsenter")
    with subprocess.Popen(
        [*_NAMESPACE, "sh", "-c", _MOUNT, "sh", str(folder), str(megabytes)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != b"mounted\n":
                pytest.skip("mounting is not permitted here")
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
