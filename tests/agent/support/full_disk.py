"""A disk that can be full."""

import errno
import os


class LimitedDisk:
    """A disk that refuses writes while it is full."""

    def __init__(self) -> None:
        self.is_full = False

    def write(self, number: int, content: bytes) -> int:
        if self.is_full:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.write(number, content)
