"""Journal reader threads, each with its own position and pace.

1. A wake-up is only a hint; the journal is authoritative.
2. A failed reader keeps its position and tries again, even if a plug-in calls exit.
"""

import logging
import time
from collections.abc import Callable
from threading import Thread

from forewarn.core.health import ThreadHealth
from forewarn.errors import Unavailable
from forewarn.ports import Bell

_log = logging.getLogger(__name__)

_RETRY = 1.0  # seconds, after a failure
_CALM = 5.0  # seconds without a failure that count as a recovery
_DOUBLINGS = 64  # longer than any practical pause
LONGEST_WAIT = 60.0  # seconds; limits the delay after a missed wake-up


def doubled_pause(first: float, failures: int, longest: float) -> float:
    """Return the seconds to wait: `first`, doubled for each further failure."""
    return min(first * 2.0 ** min(max(failures - 1, 0), _DOUBLINGS), longest)


class FailureLog:
    """Log throttle: logs a repeated failure only once until recovery.

    Alternating failures and successes do not count as recovery, because they would fill
    the log.
    """

    def __init__(
        self,
        name: str,
        remedy: str = "retrying",
        monotonic: Callable[[], float] = time.monotonic,
        *,
        is_known: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create a log for failures of `name` that states the `remedy`.

        While `is_known` returns True, the store is known to be failing, and failures of
        the store are not logged again.
        """
        self._is_known = is_known
        self._name = name
        self._remedy = remedy
        self._monotonic = monotonic
        self._logged: set[str] = set()  # since the last recovery
        self._failed_at = 0.0

    def failed(self, error: BaseException) -> None:
        """Log `error`, unless it has already been logged."""
        text, self._failed_at = repr(error), self._monotonic()
        is_known = isinstance(error, Unavailable) and self._is_known()
        if text in self._logged or is_known:
            return
        self._logged.add(text)
        if isinstance(error, Unavailable):
            _log.error("%s failed: %s; %s", self._name, error, self._remedy)
        else:
            _log.error("%s failed; %s", self._name, self._remedy, exc_info=error)

    def succeeded(self) -> None:
        """Log the recovery after a period without failures."""
        if self._logged and self._monotonic() - self._failed_at >= _CALM:
            self._logged.clear()
            _log.info("%s recovered", self._name)


class Follower:
    """A thread in which a reader catches up whenever its bell rings."""

    def __init__(
        self,
        name: str,
        catch_up: Callable[[], None],
        wait: Callable[[Bell], object] = lambda bell: bell.wait(LONGEST_WAIT),
        bell: Bell | None = None,
        *,
        is_known: Callable[[], bool] = lambda: False,
    ) -> None:
        """Create a thread named `name` that calls `catch_up` and `wait` in turn.

        A reader that wakes itself passes its own `bell`. For `is_known`, see
        `FailureLog`.
        """
        self._catch_up = catch_up
        self._wait = wait
        self._failures = FailureLog(name, is_known=is_known)
        self._bell = bell or Bell()
        self._leaving = Bell()
        self._failing_since: float | None = None  # None if the last turn succeeded
        self._reason = ""  # of the last failure
        self._thread = Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def ring(self) -> None:
        """Wake the reader."""
        self._bell.set()

    @property
    def health(self) -> ThreadHealth:
        """The state of the thread; a stopping thread counts as alive."""
        is_started = self._thread.ident is not None
        return ThreadHealth(
            name=self._thread.name,
            is_alive=self._thread.is_alive()
            or self._leaving.is_set()
            or not is_started,
            failing_since=self._failing_since,
            reason=self._reason,
        )

    def stop(self, timeout: float | None = None) -> None:
        """Wait for the current call to finish and end the thread.

        If the thread has not ended after `timeout` seconds, it is abandoned. None means
        to wait forever.
        """
        self._leaving.set()
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def _run(self) -> None:
        while not self._leaving.is_set():
            self._bell.clear()
            try:
                self._catch_up()
                self._failing_since = None
                self._failures.succeeded()
                if not self._leaving.is_set():  # `stop` may already have rung it
                    self._wait(self._bell)
            except BaseException as error:
                if self._failing_since is None:
                    self._failing_since = time.monotonic()
                is_known = isinstance(error, Unavailable)
                self._reason = str(error) if is_known else "see the service's log"
                self._failures.failed(error)
                self._bell.wait(_RETRY)
