"""Pending observations: polls, events shown, and tokens used or rejected.

Observations stay in memory until the next write transaction saves them. This module
also handles journal entries that do not change a slice, such as a token's revocation.
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
from forewarn.core.lifecycle.transitions import replay
from forewarn.core.tokens import RefusedToken, Token
from forewarn.ports import Transaction

_T = TypeVar("_T")

_MINUTE = timedelta(minutes=1)
_MOST_ADDRESSES = 100  # addresses listed individually
_ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Batch:
    """Observations waiting to be written to the store."""

    polls: Mapping[str, datetime] = field(default_factory=dict)  # keyed by group
    sights: Sequence[Sight] = ()
    token_uses: Mapping[str, datetime] = field(default_factory=dict)  # keyed by ID
    refused: Sequence[str] = ()  # addresses

    @property
    def refusals(self) -> tuple[RefusedToken, ...]:
        """The number of rejected tokens from each address, highest number first."""
        counted = Counter(self.refused).most_common()
        refusals = [
            RefusedToken(address=a, attempts=n) for a, n in counted[:_MOST_ADDRESSES]
        ]
        rest = sum(n for _, n in counted[_MOST_ADDRESSES:])
        if rest:
            refusals.append(RefusedToken(address=_ELSEWHERE, attempts=rest))
        return tuple(refusals)


class PendingObservations:
    """Unsaved observations: group polls, events shown, and tokens used or rejected."""

    def __init__(self) -> None:
        """Create an empty collection."""
        self._polls: deque[tuple[str, datetime]] = deque()
        self._sights: deque[Sight] = deque()
        self._token_uses: deque[tuple[str, datetime]] = deque()
        self._last_used: dict[str, datetime] = {}  # keyed by token
        self._refused: deque[str] = deque(maxlen=100_000)

    def add_poll(self, group: str, at: datetime) -> None:
        """Record that a VM of `group` requested its document."""
        self._polls.append((group, at))

    def add_sight(self, sight: Sight) -> None:
        """Record that a VM was shown an event."""
        self._sights.append(sight)

    def add_token_use(self, token: str, at: datetime) -> None:
        """Record that a token was used, at most once a minute to limit writes."""
        last = self._last_used.get(token)
        if last is None or abs(at - last) >= _MINUTE:
            self._last_used[token] = at
            self._token_uses.append((token, at))

    def add_refusal(self, address: str) -> None:
        """Record an invalid token from `address`."""
        self._refused.append(address)

    @property
    def has_any(self) -> bool:
        """Return whether any observations are waiting to be saved."""
        return bool(self._polls or self._sights or self._token_uses or self._refused)

    def take(self) -> Batch:
        """Take all observations; if saving them fails, the caller must return them."""
        return Batch(
            polls=dict(_drain(self._polls)),
            sights=_drain(self._sights),
            token_uses=dict(_drain(self._token_uses)),
            refused=_drain(self._refused),
        )

    def give_back(self, batch: Batch) -> None:
        """Put back observations that could not be saved."""
        self._polls.extendleft(reversed([*batch.polls.items()]))
        self._sights.extendleft(reversed(batch.sights))
        self._token_uses.extendleft(reversed([*batch.token_uses.items()]))
        self._refused.extendleft(reversed(batch.refused))


def record_token_use(transaction: Transaction, batch: Batch, now: datetime) -> None:
    """Save which tokens were used and how many were rejected."""
    if batch.token_uses:
        transaction.save_token_uses(batch.token_uses)
    if batch.refused:
        fact = AccessRefused(at=now, refusals=batch.refusals)
        record_facts(transaction, [fact])


# --- revocation --------------------------------------------------------------


def revoke(
    transaction: Transaction, tokens: Sequence[Token], by: str | None, now: datetime
) -> None:
    """Revoke `tokens` and record the revocation in the journal."""
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

    Any step may remove a group: a standalone group leaves with its deleted VM.
    """
    changes = [fact for fact in facts if isinstance(fact, f.FleetChanged)]
    return frozenset(name for change in changes for name in change.removed_groups)


def revoke_tokens_of(
    transaction: Transaction, groups: Collection[str], now: datetime
) -> bool:
    """Revoke the tokens of removed `groups`, since their names may be reused.

    Return whether any tokens were revoked.
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
    transaction.save(Slice(), Step(replay(facts), tuple(facts)), {})


def _drain(queue: deque[_T]) -> list[_T]:
    return [queue.popleft() for _ in range(len(queue))]
