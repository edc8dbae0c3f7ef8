"""State of all events: in memory, and on disk as soon as the disk accepts it."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import EventState, LastStatus
from forewarn.agent.storage.store import StateStore
from forewarn.errors import Unavailable

_KEPT = timedelta(days=7)  # how long a completed event is remembered


class StateMemory:
    """Event states, and which of them are not on disk yet."""

    def __init__(
        self, keeping: StateStore, complain: Callable[[Unavailable | None], None]
    ) -> None:
        """Store states via `keeping`; pass disk errors to `complain`, None if over."""
        self._keeping = keeping
        self._complain = complain
        self._lives: dict[str, EventState] = {}
        self._unsaved: set[str] = set()

    def recall(self) -> tuple[str, ...]:
        """Load the states from disk; return what was wrong with them."""
        loaded = self._keeping.load()
        self._lives = {
            normalize_event_id(name): life for name, life in loaded.lives.items()
        }
        return loaded.complaints

    @property
    def lives(self) -> Mapping[str, EventState]:
        """Every state, by the key of its event."""
        return self._lives

    def live(self) -> Iterator[EventState]:
        """Return the states of events that are not gone."""
        return (
            life for life in self._lives.values() if life.seen is not LastStatus.GONE
        )

    def unfinished(self) -> list[EventState]:
        """Return the states that still need action."""
        return [life for life in self._lives.values() if life.over_at is None]

    def find(self, event: str) -> EventState | None:
        """Return the state of an event; None if it is unknown."""
        return self._lives.get(normalize_event_id(event))

    def keep(self, life: EventState) -> None:
        """Store a state if it has changed."""
        name = normalize_event_id(life.id)
        if self._lives.get(name) == life and name not in self._unsaved:
            return
        self._lives[name] = life
        self._save(name)

    def is_safe(self, life: EventState) -> bool:
        """Return whether the event's current state is on disk."""
        return normalize_event_id(life.id) not in self._unsaved

    @property
    def is_full(self) -> bool:
        """Whether some state is not on disk."""
        return bool(self._unsaved)

    def save_again(self) -> None:
        """Retry states that could not be saved."""
        for name in sorted(self._unsaved):
            self._save(name)

    def forget_old(self, now: datetime) -> None:
        """Delete states that have been complete for a week."""
        old = [
            name
            for name, life in self._lives.items()
            if life.over_at is not None and now - life.over_at > _KEPT
        ]
        for name in old:
            life = self._lives.pop(name)
            self._unsaved.discard(name)
            try:
                self._keeping.forget(life.id)
            except Unavailable as error:
                self._complain(error)

    def _save(self, name: str) -> None:
        try:
            self._keeping.save(self._lives[name])
        except Unavailable as error:
            self._unsaved.add(name)
            self._complain(error)
        else:
            self._unsaved.discard(name)
            if not self._unsaved:
                self._complain(None)
