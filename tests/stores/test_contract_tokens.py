"""Contract of every store: access tokens."""

from dataclasses import replace

from tests.stores.builders import MINUTE, NOON

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.tokens import Role, Token
from forewarn.ports import Store


def a_token(number: int) -> Token:
    return Token(
        id=f"{9 - number:x}f",  # in no particular order
        name=f"token-{number}",
        role=Role.GROUP if number else Role.ADMIN,
        group="wéb" if number else None,
        digest="d" * 64,
        created_at=NOON,
        created_by="admin",
        expires_at=NOON + MINUTE if number else None,
    )


def keep(store: Store, token: Token) -> None:
    fact = f.TokenCreated(
        at=NOON, by="admin", token=token.id, name=token.name, role=token.role
    )
    with store.transaction() as transaction:
        transaction.keep_token(token)
        transaction.save(Slice(), Step(Slice(), (fact,)), {})


def stored_tokens(store: Store) -> list[Token]:
    with store.snapshot() as snapshot:
        return [*snapshot.tokens()]


class TestTokens:
    """Tokens, stored next to the journal."""

    def test_tokens_are_ordered_by_creation(self, store: Store) -> None:
        tokens = [a_token(number) for number in range(4)]
        for token in tokens:
            keep(store, token)
        assert stored_tokens(store) == tokens

    def test_changed_token_keeps_its_place(self, store: Store) -> None:
        first, second = a_token(0), a_token(1)
        keep(store, first)
        keep(store, second)
        gone = replace(first, revoked_at=NOON)
        keep(store, gone)
        assert stored_tokens(store) == [gone, second]

    def test_last_use_of_a_token_is_kept(self, store: Store) -> None:
        keep(store, a_token(0))
        keep(store, a_token(1))
        with store.transaction() as transaction:
            transaction.save_token_uses(
                {a_token(1).id: NOON + MINUTE, "nobody's": NOON}
            )
        used = replace(a_token(1), last_used=NOON + MINUTE)
        assert stored_tokens(store) == [a_token(0), used]
