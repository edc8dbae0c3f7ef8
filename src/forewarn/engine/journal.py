"""Readers of the journal: at their own pace, from their own position.

Waking a reader is only a hint; the journal is the truth. A reader that fails stays
where it is and tries again.
"""

import logging
import time
from collections.abc import Callable
from threading import Thread

from forewarn.errors import Unavailable
from forewarn.ports import Bell

_log = logging.getLogger(__name__)

_RETRY = 1.0  # seconds, after a failure
_CALM = 5.0  # seconds without one, until it is over
_AT_THE_LATEST = 60.0  # seconds; a lost wake-up costs a minute, not for ever


class Complaints:
    """Logs failures that repeat themselves only once, until it works again.

    What fails and works by turns is not believed to work: it would fill the log.
    """

    def __init__(
        self,
        name: str,
        remedy: str = "trying again",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Speak for `name`, say what is done about it, and go by `monotonic`."""
        self._name = name
        self._remedy = remedy
        self._monotonic = monotonic
        self._said: set[str] = set()  # since it worked last
        self._failed_at = 0.0

    def about(self, error: Exception) -> None:
        """Log `error`, unless that was done before."""
        said, self._failed_at = repr(error), self._monotonic()
        if said in self._said:
            return
        self._said.add(said)
        if isinstance(error, Unavailable):
            _log.error("%s: %s; %s", self._name, error, self._remedy)
        else:
            _log.error("%s failed; %s", self._name, self._remedy, exc_info=error)

    def end(self) -> None:
        """Log that it works again, if it did not until a while ago."""
        if self._said and self._monotonic() - self._failed_at >= _CALM:
            self._said.clear()
            _log.info("%s: works again", self._name)


class Follower:
    """A thread that lets a reader catch up whenever its bell rings."""

    def __init__(
        self,
        name: str,
        catch_up: Callable[[], None],
        wait: Callable[[Bell], object] = lambda bell: bell.wait(_AT_THE_LATEST),
    ) -> None:
        """Call `catch_up` from a thread called `name`, then `wait` for the bell."""
        self._catch_up = catch_up
        self._wait = wait
        self._complaints = Complaints(name)
        self._bell = Bell()
        self._leaving = Bell()
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def ring(self) -> None:
        """Say that there may be something to do."""
        self._bell.set()

    def stop(self, patience: float | None = None) -> None:
        """Finish what is at hand, and end.

        A thread that has not ended after `patience` seconds is left alone; None: wait.
        """
        self._leaving.set()
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(patience)

    def _run(self) -> None:
        while not self._leaving.is_set():
            self._bell.clear()
            try:
                self._catch_up()
                self._complaints.end()
                if not self._leaving.is_set():  # its ring may have been cleared
                    self._wait(self._bell)
            except Exception as error:
                self._complaints.about(error)
                self._bell.wait(_RETRY)
