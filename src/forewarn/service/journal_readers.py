"""Journal readers, and what wakes them after a commit."""

import logging
from collections.abc import Callable, Sequence

from forewarn.engine.engine import Engine
from forewarn.engine.readers.counters import MetricsReader
from forewarn.engine.readers.documents import Documents
from forewarn.engine.readers.driver_runner import DriverRunner
from forewarn.engine.readers.follower import Follower
from forewarn.engine.readers.notifications import Notifications
from forewarn.engine.timers import Timers
from forewarn.engine.tokens import Tokens
from forewarn.errors import ForewarnError

_log = logging.getLogger(__name__)

_COUNT = 5.0  # seconds between updates of the metrics; a scrape does not wait for one


class JournalReaders:
    """All readers of the journal, and the timers."""

    def __init__(
        self,
        engine: Engine,
        *,
        tokens: Tokens,
        documents: Documents,
        driver_runner: DriverRunner,
        metrics_reader: MetricsReader,
        notifications: Notifications,
    ) -> None:
        """Wake each reader when `engine` has committed."""
        self._engine = engine
        self._tokens = tokens
        self._documents = documents
        self._driver_runner = driver_runner
        self._notifications = notifications
        #: Called with the journal's position before VMs can see the change.
        self.before_documents: list[Callable[[int], None]] = []
        #: Called with the position when VMs can see it; both in the committing thread.
        self.after_documents: list[Callable[[int], None]] = []
        self._document_follower = Follower("documents", documents.catch_up)
        self._driver_follower = Follower(
            "works", driver_runner.catch_up, driver_runner.wait, driver_runner.bell
        )
        self._metrics_follower = Follower(
            "counting", metrics_reader.catch_up, lambda bell: bell.wait(_COUNT)
        )
        self.timers = Timers(engine, self._driver_follower.ring)
        # Not arguments of the engine: the readers need it themselves.
        engine.after_commit, engine.on_doubt = self.wake, self.timers.ring

    @property
    def threads(self) -> Sequence[Follower | Timers]:
        """Background threads, in the order in which they are started."""
        return (
            self._document_follower,
            self._driver_follower,
            self._metrics_follower,
            self.timers,
        )

    def wake(self, position: int) -> None:
        """Apply a commit before its caller goes on, and wake all other readers."""
        for callback in self.before_documents:
            callback(position)
        self._try("tokens", self._follow_tokens)
        self._try("documents", lambda: self._documents.catch_up(position))
        self._driver_follower.ring()
        self.timers.ring()
        for callback in self.after_documents:
            callback(position)
        self._notifications.ring()

    def read_to_end(self, restamp: Callable[[], None]) -> None:
        """Bring documents and drivers up to date; call `restamp` between them."""
        self._documents.catch_up()
        restamp()  # VMs get the new time before any driver acts
        self._driver_runner.finish()

    def _follow_tokens(self) -> None:
        if self._engine.are_tokens_stale:
            self._tokens.reload()

    def _try(self, name: str, catch_up: Callable[[], None]) -> None:
        try:
            catch_up()
        except ForewarnError:
            _log.exception("%s will catch up later", name)
            self._document_follower.ring()
