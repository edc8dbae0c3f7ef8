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

_COUNT = 5.0  # seconds between updates by `counting`; a scrape does not wait for one


class JournalReaders:
    """All readers of the journal, and the timers."""

    def __init__(
        self,
        engine: Engine,
        *,
        tokens: Tokens,
        documents: Documents,
        works: DriverRunner,
        counting: MetricsReader,
        notifying: Notifications,
    ) -> None:
        """Wake each reader when `engine` has committed."""
        self._engine = engine
        self._tokens = tokens
        self._documents = documents
        self._works = works
        self._notifying = notifying
        #: Called with the journal's position before VMs can see the change.
        self.told_first: list[Callable[[int], None]] = []
        #: Called with the position when VMs can see it; both in the committing thread.
        self.told: list[Callable[[int], None]] = []
        self._of_documents = Follower("documents", documents.catch_up)
        self._of_works = Follower("works", works.catch_up, works.wait, works.bell)
        self._of_counting = Follower(
            "counting", counting.catch_up, lambda bell: bell.wait(_COUNT)
        )
        self.timers = Timers(engine, self._of_works.ring)
        # Not arguments of the engine: the readers need it themselves.
        engine.after_commit, engine.on_doubt = self.wake, self.timers.ring

    @property
    def threads(self) -> Sequence[Follower | Timers]:
        """Background threads, in the order in which they are started."""
        return (self._of_documents, self._of_works, self._of_counting, self.timers)

    def wake(self, position: int) -> None:
        """Apply a commit before its caller goes on, and wake all other readers."""
        for first in self.told_first:
            first(position)
        self._try("tokens", self._follow_tokens)
        self._try("documents", lambda: self._documents.catch_up(position))
        self._of_works.ring()
        self.timers.ring()
        for callback in self.told:
            callback(position)
        self._notifying.ring()

    def read_to_end(self, restamp: Callable[[], None]) -> None:
        """Bring documents and drivers up to date; call `restamp` between them."""
        self._documents.catch_up()
        restamp()  # VMs get the new time before any driver acts
        self._works.finish()

    def _follow_tokens(self) -> None:
        if self._engine.are_tokens_stale:
            self._tokens.reload()

    def _try(self, name: str, catch_up: Callable[[], None]) -> None:
        try:
            catch_up()
        except ForewarnError:
            _log.exception("%s will catch up later", name)
            self._of_documents.ring()
