"""The thread of a plane, which reports a failed start and logs an unexpected end."""

import logging
from collections.abc import Callable
from threading import Event, Thread

from forewarn.core.health import ThreadHealth

_log = logging.getLogger(__name__)


class PlaneThread:
    """A thread that runs an event loop until stopped."""

    def __init__(self, name: str, run: Callable[[Callable[[], None]], None]) -> None:
        """Create a thread that calls `run`.

        `run` must call its argument once the plane is ready.
        """
        self._run_plane = run
        self._has_started = Event()  # or failed to
        self._failure: BaseException | None = None  # None unless the start failed
        self._is_stopping = False
        self._thread = Thread(target=self._run, name=name, daemon=True)

    @property
    def health(self) -> ThreadHealth:
        """The state of the thread; a stopping thread counts as alive."""
        is_alive = self._thread.is_alive() or self._is_stopping
        return ThreadHealth(name=self._thread.name, is_alive=is_alive)

    def start(self) -> None:
        """Start the thread and wait until the plane is ready; raise if it fails."""
        self._thread.start()
        self._has_started.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self, end: Callable[[], object]) -> None:
        """Call `end` to end the plane and wait for the thread."""
        self._is_stopping = True
        if self._thread.is_alive():
            end()
            self._thread.join()

    def _run(self) -> None:
        try:
            self._run_plane(self._has_started.set)
        except BaseException as error:
            if not self._has_started.is_set():
                self._failure = error
            else:
                _log.critical(
                    "thread %s failed; restart forewarn",
                    self._thread.name,
                    exc_info=error,
                )
        finally:
            self._has_started.set()
