"""Timeouts for blocking operations.

One thread monitors all operations. To abort an operation, the thread calls a function
that forces it to fail, for example by closing its connection.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic

from forewarn.errors import Unavailable

_LONGEST = 60.0  # seconds between two checks


class StoreTimeouts:
    """Gives each operation a timeout; `hasten` shortens all timeouts."""

    def __init__(self) -> None:
        """Create the timeouts without operations; call `start` to start the thread."""
        self._lock = Lock()
        self._bell = Event()
        self._waits: dict[object, tuple[float, Callable[[], object]]] = {}
        self._end = float("inf")
        self._check_at = 0.0  # time of the thread's next check
        self._thread = Thread(target=self._run, name="patience", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    @contextmanager
    def limit(self, seconds: float, give_up: Callable[[], object]) -> Iterator[None]:
        """Call `give_up` from another thread if the block exceeds `seconds`."""
        wait = object()
        with self._lock:
            now = monotonic()
            if now >= self._end:
                raise Unavailable("the store is closed")
            self._waits[wait] = (now + seconds, give_up)
            if now + seconds < self._check_at:
                self._bell.set()
        try:
            yield
        finally:
            with self._lock:  # after this, `give_up` is never called
                self._waits.pop(wait, None)

    def hasten(self, seconds: float) -> None:
        """Abort operations that exceed `seconds`; reject everything after that."""
        with self._lock:
            self._end = min(self._end, monotonic() + seconds)
            self._bell.set()

    def stop(self) -> None:
        """Abort everything and end the thread."""
        self.hasten(0)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._bell.clear()
            pause = self._check()
            if pause is None:
                return
            self._bell.wait(pause)

    def _check(self) -> float | None:
        """Abort late operations; return the seconds to wait, or None at the end."""
        with self._lock:
            now = monotonic()
            for wait, (until, give_up) in [*self._waits.items()]:
                if min(until, self._end) <= now:
                    del self._waits[wait]
                    give_up()
            if now >= self._end:
                return None
            times = [until for until, _ in self._waits.values()]
            self._check_at = min(now + _LONGEST, self._end, *times)
            return self._check_at - now
