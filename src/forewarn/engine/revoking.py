"""Tokens that are good for nothing any more."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime

from forewarn.core import facts as f
from forewarn.core.maintenance import Slice
from forewarn.core.settling import Step
from forewarn.core.tokens import Token
from forewarn.ports import Transaction


def revoke(
    transaction: Transaction, tokens: Sequence[Token], by: str | None, now: datetime
) -> None:
    """Revoke `tokens`, and say so in the journal."""
    for each in tokens:
        transaction.keep_token(replace(each, revoked_at=now))
    record(
        transaction,
        [
            f.TokenRevoked(
                at=now, by=by, token=each.id, name=each.name, group=each.group
            )
            for each in tokens
        ],
    )


def revoke_of_gone(
    transaction: Transaction, facts: Iterable[f.Fact], now: datetime
) -> bool:
    """Revoke the tokens of groups that `facts` remove: another may get the name."""
    changed = [each for each in facts if isinstance(each, f.FleetChanged)]
    gone = {name for each in changed for name in each.removed_groups}
    if not gone:
        return False
    found = [
        each
        for each in transaction.tokens()
        if each.group in gone and each.revoked_at is None
    ]
    revoke(transaction, found, None, now)
    return bool(found)


def record(transaction: Transaction, facts: Sequence[f.Fact]) -> None:
    """Write `facts` down that change nothing but what is kept beside the fleet."""
    transaction.save(Slice(), Step(Slice(), tuple(facts)), {})
