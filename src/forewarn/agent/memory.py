"""All lives: in memory, and on disk as soon as the disk takes them."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta

from forewarn.agent.keeping import Keeping
from forewarn.agent.lives import Life, Seen
from forewarn.agent.sighting import key
from forewarn.errors import Unavailable

_KEPT = timedelta(days=7)  # for which a life that is over is remembered


class Memory:
    """What the agent knows; and which part of it is not on disk yet."""

    def __init__(
        self, keeping: Keeping, complain: Callable[[Unavailable | None], None]
    ) -> None:
        """Keep lives by `keeping`; `complain` of a disk that takes none, or of none."""
        self._keeping = keeping
        self._complain = complain
        self._lives: dict[str, Life] = {}
        self._unsaved: set[str] = set()

    def recall(self) -> tuple[str, ...]:
        """Read what is on disk; answer what was wrong with it."""
        loaded = self._keeping.load()
        self._lives = {key(name): life for name, life in loaded.lives.items()}
        return loaded.complaints

    @property
    def lives(self) -> Mapping[str, Life]:
        """Every life, by the key of its event."""
        return self._lives

    def live(self) -> Iterator[Life]:
        """Those of events that are not gone."""
        return (life for life in self._lives.values() if life.seen is not Seen.GONE)

    def unfinished(self) -> list[Life]:
        """Those for which something is left to be done."""
        return [life for life in self._lives.values() if life.over_at is None]

    def find(self, event: str) -> Life | None:
        """Find the life of an event."""
        return self._lives.get(key(event))

    def keep(self, life: Life) -> None:
        """Keep a life that has changed."""
        name = key(life.id)
        if self._lives.get(name) == life and name not in self._unsaved:
            return
        self._lives[name] = life
        self._save(name)

    def is_safe(self, life: Life) -> bool:
        """Say whether all that is known of the event is on disk."""
        return key(life.id) not in self._unsaved

    @property
    def is_full(self) -> bool:
        """Whether something is not on disk."""
        return bool(self._unsaved)

    def save_again(self) -> None:
        """Offer the disk what it did not take."""
        for name in sorted(self._unsaved):
            self._save(name)

    def forget_old(self, now: datetime) -> None:
        """Forget what has been over for a week."""
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
