"""Idempotency keys: the response is saved in the transaction of the request."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from forewarn.errors import InvalidInput, Repeated, Throttled
from forewarn.ports import Receipt, Snapshot, Transaction

_T = TypeVar("_T")

#: How long the response to an idempotency key is kept.
KEPT = timedelta(hours=24)

#: How many responses are kept for one token.
MOST_RECEIPTS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey(Generic[_T]):
    """A request with an idempotency key, and how to render its response."""

    key: str
    digest: str
    holder: str = ""  # whose key it is
    render: Callable[[_T, Snapshot], str]


def refuse_repeated(
    snapshot: Snapshot, once: IdempotencyKey[_T], now: datetime
) -> None:
    """Raise `Repeated` with the earlier response, if there is one."""
    receipt = snapshot.receipt(once.key)
    if receipt is None or receipt.at < now - KEPT:
        return
    if receipt.digest != once.digest:
        raise InvalidInput("this Idempotency-Key was used for another request")
    raise Repeated(receipt.answer)


class Receipts:
    """Saves responses to idempotency keys, and counts them for each token.

    The counts are in memory: they begin when the service starts.
    """

    def __init__(self, most: int = MOST_RECEIPTS) -> None:
        """Allow `most` receipts for each token."""
        self._most = most
        self._hours: dict[str, Counter[int]] = {}  # kept per hour, by holder
        self.refused = 0  # requests

    def is_full(self, holder: str, now: datetime) -> bool:
        """Whether `holder` has as many receipts as it may, counted by the hour."""
        hours, oldest = self._hours.get(holder, Counter()), _hour(now - KEPT)
        for hour in [hour for hour in [*hours] if hour < oldest]:
            hours.pop(hour, None)
        return hours.total() >= self._most

    def refuse(self, snapshot: Snapshot) -> None:
        """Refuse a new key whose holder has as many receipts as it may."""
        del snapshot
        self.refused += 1
        raise Throttled(
            f"this token has used {self._most:,} Idempotency-Keys in 24 hours, as many"
            " as it may; try again in an hour, or without a key"
        )

    def keep(
        self,
        transaction: Transaction,
        once: IdempotencyKey[_T] | None,
        result: _T,
        now: datetime,
    ) -> None:
        """Save the response to `once` in the transaction that carries it out."""
        if once is None:
            return
        answer = once.render(result, transaction)
        transaction.keep_receipt(
            Receipt(key=once.key, digest=once.digest, answer=answer, at=now),
            forget_before=now - KEPT,
        )
        self._hours.setdefault(once.holder, Counter())[_hour(now)] += 1


def _hour(moment: datetime) -> int:
    return int(moment.timestamp() // 3600)
