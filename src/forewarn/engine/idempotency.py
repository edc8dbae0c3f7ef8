"""Idempotency keys: the response is saved in the transaction of the request."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from forewarn.errors import InvalidInput, Repeated
from forewarn.ports import Receipt, Snapshot, Transaction

_T = TypeVar("_T")

#: How long the response to an idempotency key is kept.
KEPT = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey(Generic[_T]):
    """A request with an idempotency key, and how to render its response."""

    key: str
    digest: str
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


def keep_receipt(
    transaction: Transaction, once: IdempotencyKey[_T] | None, result: _T, now: datetime
) -> None:
    """Save the response to `once` in the transaction that carries it out."""
    if once is None:
        return
    answer = once.render(result, transaction)
    transaction.keep_receipt(
        Receipt(key=once.key, digest=once.digest, answer=answer, at=now),
        forget_before=now - KEPT,
    )
