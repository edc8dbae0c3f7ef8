"""Revocation of tokens."""

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
    """Revoke `tokens`, and record it in the journal."""
    for token in tokens:
        transaction.keep_token(replace(token, revoked_at=now))
    record(
        transaction,
        [
            f.TokenRevoked(
                at=now, by=by, token=token.id, name=token.name, group=token.group
            )
            for token in tokens
        ],
    )


def revoke_of_gone(
    transaction: Transaction, facts: Iterable[f.Fact], now: datetime
) -> bool:
    """Revoke the tokens of removed groups, since their names may be reused."""
    changed = [each for each in facts if isinstance(each, f.FleetChanged)]
    gone = {name for each in changed for name in each.removed_groups}
    if not gone:
        return False
    tokens = [
        each
        for each in transaction.tokens()
        if each.group in gone and each.revoked_at is None
    ]
    revoke(transaction, tokens, None, now)
    return bool(tokens)


def record(transaction: Transaction, facts: Sequence[f.Fact]) -> None:
    """Append `facts` that change neither the fleet nor any maintenance."""
    transaction.save(Slice(), Step(Slice(), tuple(facts)), {})
