"""Idempotency keys: each response is saved in the transaction of its request."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import ceil
from typing import Generic, NoReturn, TypeVar

from forewarn.core.lifecycle.settlement import Context
from forewarn.errors import InvalidInput, Repeated, Throttled, Undone
from forewarn.formats import format_duration
from forewarn.ports import Receipt, Snapshot, Transaction

_T = TypeVar("_T")

#: How long the response to an idempotency key is kept.
KEPT = timedelta(hours=24)

#: The maximum number of responses kept for one token.
MOST_RECEIPTS = 10_000

_HOUR = 3600  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey(Generic[_T]):
    """The idempotency key of a request and a function that renders the response."""

    key: str
    digest: str
    holder: str = ""  # the holder of the key
    render: Callable[[_T, Snapshot], str]
    #: For a dry run: reads the effects of the command, given the journal's position
    #: before them. The command is then undone, and no response is saved.
    dry_run: Callable[[Snapshot, int, Context], None] | None = None


def refuse_repeated(
    snapshot: Snapshot, once: IdempotencyKey[_T], now: datetime
) -> None:
    """Raise `Repeated` with the earlier response, if there is one."""
    receipt = snapshot.receipt(once.key)
    if receipt is None or receipt.at < now - KEPT:
        return
    if receipt.digest != once.digest:
        raise InvalidInput(
            "this Idempotency-Key was already used for a different request; use a"
            " new key"
        )
    raise Repeated(receipt.answer)


def keep_receipt(
    transaction: Transaction,
    once: IdempotencyKey[_T] | None,
    result: _T,
    now: datetime,
) -> None:
    """Save the response to `once` in the transaction that carries out the request."""
    if once is None:
        return
    answer = once.render(result, transaction)
    if once.dry_run is not None:
        return
    transaction.keep_receipt(
        Receipt(key=once.key, digest=once.digest, answer=answer, at=now),
        forget_before=now - KEPT,
    )


def undo_dry_run(
    transaction: Transaction,
    once: IdempotencyKey[_T] | None,
    before: int,
    context: Context,
) -> None:
    """Raise `Undone` if `once` is for a dry run, so that the transaction is undone."""
    if once is not None and once.dry_run is not None:
        once.dry_run(transaction, before, context)
        raise Undone("the dry run has been undone")


def receipt_holder(
    transaction: Transaction, once: IdempotencyKey[_T] | None
) -> str | None:
    """Return the holder of the receipt that `transaction` saves, or None."""
    if once is None or transaction.receipt(once.key) is None:
        return None
    return once.holder


class Receipts:
    """Counts the responses saved for each token's idempotency keys.

    The counts are in memory and start at zero when the service starts.
    """

    def __init__(self, most: int = MOST_RECEIPTS) -> None:
        """Create counters that allow at most `most` receipts for each token."""
        self._most = most
        self._hours: dict[str, Counter[int]] = {}  # saved per hour, for each holder
        self.refused = 0  # requests

    def wait(self, holder: str, now: datetime) -> timedelta | None:
        """Return how long `holder` must wait to use a new key; None means no wait."""
        hours, oldest = self._hours.get(holder, Counter()), _hour(now - KEPT)
        for hour in [hour for hour in [*hours] if hour < oldest]:
            hours.pop(hour, None)
        if hours.total() < self._most:
            return None
        return datetime.fromtimestamp(_HOUR * (min(hours) + 1), UTC) + KEPT - now

    def refuse(self, wait: timedelta) -> NoReturn:
        """Refuse a new key; the holder can retry after `wait`."""
        self.refused += 1
        raise Throttled(
            f"this token has used {self._most:,} Idempotency-Keys in 24 hours, which"
            f" is the maximum; try again in {format_duration(wait)}, or omit the key",
            retry_after=ceil(wait.total_seconds()),
        )

    def count(self, holder: str | None, now: datetime) -> None:
        """Count a receipt committed for `holder`; do nothing if `holder` is None."""
        if holder is not None:
            self._hours.setdefault(holder, Counter())[_hour(now)] += 1


def _hour(moment: datetime) -> int:
    return int(moment.timestamp() // _HOUR)
