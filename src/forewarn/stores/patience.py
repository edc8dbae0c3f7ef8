"""Ends what takes too long, so that nobody waits for ever.

One thread watches over all waits. A wait is given up by a function that makes it fail
where it hangs, such as one that cuts a connection.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic

from forewarn.errors import Unavailable

_LONGEST = 60.0  # seconds between two looks


class Patience:
    """Gives each wait its time; `hasten` leaves little to all of them."""

    def __init__(self) -> None:
        """Begin with no waits; `start` begins to watch."""
        self._lock = Lock()
        self._bell = Event()
        self._waits: dict[object, tuple[float, Callable[[], object]]] = {}
        self._end = float("inf")
        self._look_at = 0.0  # when the thread looks next
        self._thread = Thread(target=self._run, name="patience", daemon=True)

    def start(self) -> None:
        """Begin to watch."""
        self._thread.start()

    @contextmanager
    def lasting(self, seconds: float, give_up: Callable[[], object]) -> Iterator[None]:
        """Call `give_up` from another thread if the block takes longer."""
        wait = object()
        with self._lock:
            now = monotonic()
            if now >= self._end:
                raise Unavailable("the store is closed")
            self._waits[wait] = (now + seconds, give_up)
            if now + seconds < self._look_at:
                self._bell.set()
        try:
            yield
        finally:
            with self._lock:  # from here on, `give_up` is not called any more
                self._waits.pop(wait, None)

    def hasten(self, seconds: float) -> None:
        """Give up what is not over in `seconds`; begin nothing after that."""
        with self._lock:
            self._end = min(self._end, monotonic() + seconds)
            self._bell.set()

    def stop(self) -> None:
        """Give up everything, and end."""
        self.hasten(0)
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while True:
            self._bell.clear()
            pause = self._look()
            if pause is None:
                return
            self._bell.wait(pause)

    def _look(self) -> float | None:
        """Give up what is late; say when to look again, or None after the end."""
        with self._lock:
            now = monotonic()
            for wait, (until, give_up) in [*self._waits.items()]:
                if min(until, self._end) <= now:
                    del self._waits[wait]
                    give_up()
            if now >= self._end:
                return None
            times = [until for until, _ in self._waits.values()]
            self._look_at = min(now + _LONGEST, self._end, *times)
            return self._look_at - now
