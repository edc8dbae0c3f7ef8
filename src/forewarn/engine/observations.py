"""Pending observations: polls, events shown, tokens used or rejected.

They wait in memory until the next write transaction saves them. Also here: journal
entries that change no slice, such as the revocation of a token.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeVar

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import AccessRefused, Sight
from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.tokens import RefusedToken, Token
from forewarn.ports import Transaction

_T = TypeVar("_T")

_MINUTE = timedelta(minutes=1)
_MOST_ADDRESSES = 100  # listed individually
_ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Batch:
    """Observations on their way into the store."""

    asked: Mapping[str, datetime] = field(default_factory=dict)
    sights: Sequence[Sight] = ()
    used: Mapping[str, datetime] = field(default_factory=dict)
    refused: Sequence[str] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to save."""
        return bool(self.asked or self.sights or self.used or self.refused)

    @property
    def refusals(self) -> tuple[RefusedToken, ...]:
        """The number of rejected tokens by address, most frequent first."""
        counted = Counter(self.refused).most_common()
        refusals = [
            RefusedToken(address=a, attempts=n) for a, n in counted[:_MOST_ADDRESSES]
        ]
        rest = sum(n for _, n in counted[_MOST_ADDRESSES:])
        if rest:
            refusals.append(RefusedToken(address=_ELSEWHERE, attempts=rest))
        return tuple(refusals)


class PendingObservations:
    """Unsaved observations: group requests, events shown, tokens used or rejected."""

    def __init__(self) -> None:
        """Start without observations."""
        self._asked: deque[tuple[str, datetime]] = deque()
        self._sights: deque[Sight] = deque()
        self._used: deque[tuple[str, datetime]] = deque()
        self._last_used: dict[str, datetime] = {}  # by token
        self._refused: deque[str] = deque(maxlen=100_000)

    def ask(self, group: str, at: datetime) -> None:
        """Record that a VM of `group` requested its document."""
        self._asked.append((group, at))

    def see(self, sight: Sight) -> None:
        """Record that a VM was shown an event."""
        self._sights.append(sight)

    def use(self, token: str, at: datetime) -> None:
        """Record that a token was used, once a minute at most, to save writes."""
        last = self._last_used.get(token)
        if last is None or abs(at - last) >= _MINUTE:
            self._last_used[token] = at
            self._used.append((token, at))

    def refuse(self, address: str) -> None:
        """Record an invalid token from `address`."""
        self._refused.append(address)

    @property
    def are_there(self) -> bool:
        """Whether anything is waiting to be saved."""
        return bool(self._asked or self._sights or self._used or self._refused)

    def take(self) -> Batch:
        """Take all observations; on failure, the caller must give them back."""
        requests = dict(_drain(self._asked))
        return Batch(
            asked=requests,
            sights=_drain(self._sights),
            used=dict(_drain(self._used)),
            refused=_drain(self._refused),
        )

    def give_back(self, taken: Batch) -> None:
        """Put back observations that could not be saved."""
        self._asked.extendleft(reversed([*taken.asked.items()]))
        self._sights.extendleft(reversed(taken.sights))
        self._used.extendleft(reversed([*taken.used.items()]))
        self._refused.extendleft(reversed(taken.refused))


def record_token_use(transaction: Transaction, taken: Batch, now: datetime) -> None:
    """Save which tokens were used, and how many were rejected."""
    if taken.used:
        transaction.note_uses(taken.used)
    if taken.refused:
        fact = AccessRefused(at=now, refusals=taken.refusals)
        record_facts(transaction, [fact])


# --- revocation --------------------------------------------------------------


def revoke(
    transaction: Transaction, tokens: Sequence[Token], by: str | None, now: datetime
) -> None:
    """Revoke `tokens`, and record it in the journal."""
    for token in tokens:
        transaction.keep_token(replace(token, revoked_at=now))
    record_facts(
        transaction,
        [
            f.TokenRevoked(
                at=now, by=by, token=token.id, name=token.name, group=token.group
            )
            for token in tokens
        ],
    )


def removed_groups(facts: Iterable[f.Fact]) -> frozenset[str]:
    """Return the groups that `facts` remove from the fleet.

    Any step may remove one: a standalone group leaves with its deleted VM.
    """
    changes = [fact for fact in facts if isinstance(fact, f.FleetChanged)]
    return frozenset(name for change in changes for name in change.removed_groups)


def revoke_tokens_of(
    transaction: Transaction, groups: Collection[str], now: datetime
) -> bool:
    """Revoke the tokens of removed `groups`, since their names may be reused.

    Return whether there were any.
    """
    tokens = [
        token
        for token in transaction.tokens()
        if token.group in groups and token.revoked_at is None
    ]
    revoke(transaction, tokens, None, now)
    return bool(tokens)


def record_facts(transaction: Transaction, facts: Sequence[f.Fact]) -> None:
    """Append `facts` that change neither the fleet nor any maintenance."""
    transaction.save(Slice(), Step(Slice(), tuple(facts)), {})


def _drain(queue: deque[_T]) -> list[_T]:
    return [queue.popleft() for _ in range(len(queue))]
