"""Event states in memory, saved to disk as soon as the disk accepts them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import EventState, LastStatus
from forewarn.agent.storage.store import StateStore
from forewarn.errors import Unavailable

_RETENTION = timedelta(days=7)  # how long completed events are remembered
MOST_COMPLETED = 256  # maximum number of completed events remembered


class StateMemory:
    """Event states, including which ones are not on disk yet."""

    def __init__(
        self, store: StateStore, report_error: Callable[[Unavailable | None], None]
    ) -> None:
        """Create an empty memory that saves states in `store`.

        `report_error` is called with each disk error and with None after success.
        """
        self._store = store
        self._report_error = report_error
        self._states: dict[str, EventState] = {}
        self._unsaved: set[str] = set()

    def load(self) -> tuple[str, ...]:
        """Load the states from disk; return descriptions of any problems."""
        loaded = self._store.load()
        self._states = {**loaded.states}
        return loaded.problems

    @property
    def by_id(self) -> Mapping[str, EventState]:
        """All states, keyed by normalized event ID."""
        return self._states

    def live(self) -> Iterator[EventState]:
        """Return the states of events that are not gone."""
        return (
            state
            for state in self._states.values()
            if state.seen is not LastStatus.GONE
        )

    def unfinished(self) -> list[EventState]:
        """Return the states that still need action."""
        return [state for state in self._states.values() if state.over_at is None]

    def find(self, event: str) -> EventState | None:
        """Return the state of an event, or None if it is unknown."""
        return self._states.get(normalize_event_id(event))

    def put(self, state: EventState) -> None:
        """Set the state of an event; save it if it has changed."""
        name = normalize_event_id(state.id)
        if self._states.get(name) == state and name not in self._unsaved:
            return
        self._states[name] = state
        self._save(name)

    def is_saved(self, state: EventState) -> bool:
        """Return whether the event's current state is on disk."""
        return normalize_event_id(state.id) not in self._unsaved

    @property
    def is_taken(self) -> bool:
        """Return whether another agent has taken over the state directory."""
        return self._store.is_taken

    @property
    def has_unsaved(self) -> bool:
        """Return whether any state is not on disk."""
        return bool(self._unsaved)

    def retry_unsaved(self) -> None:
        """Retry saving states that could not be saved."""
        for name in sorted(self._unsaved):
            self._save(name)

    def delete_old(self, now: datetime) -> None:
        """Delete states that have been complete for a week or exceed the limit.

        The oldest states go first. A state that is not complete is never deleted.
        """
        completed = sorted(
            (state.over_at, name)
            for name, state in self._states.items()
            if state.over_at is not None
        )
        excess = len(completed) - MOST_COMPLETED
        for number, (over_at, name) in enumerate(completed):
            if number < excess or now - over_at > _RETENTION:
                self.delete(name)

    def delete(self, name: str) -> None:
        """Delete the state with this normalized event ID."""
        state = self._states.pop(name)
        self._unsaved.discard(name)
        try:
            self._store.delete(state.id)
        except Unavailable as error:
            self._report_error(error)

    def _save(self, name: str) -> None:
        try:
            self._store.save(self._states[name])
        except Unavailable as error:
            self._unsaved.add(name)
            self._report_error(error)
        else:
            self._unsaved.discard(name)
            if not self._unsaved:
                self._report_error(None)
