"""Tokens: validation, expiry and lookup."""

from dataclasses import replace

import pytest
from tests.core.support.builders import HOUR, MINUTE, NOON

from forewarn.core import tokens
from forewarn.core.tokens import Role, Token
from forewarn.errors import Conflict, InvalidInput

CI = Token(
    id="1f",
    name="ci",
    role=Role.VIEWER,
    digest="d",
    created_at=NOON,
    created_by="admin",
)


def test_each_role_includes_the_lower_ones() -> None:
    order = [Role.VIEWER, Role.OPERATOR, Role.ADMIN]
    for place, role in enumerate(order):
        assert [role.is_at_least(other) for other in order] == [
            below <= place for below in range(3)
        ]
    assert not any(Role.GROUP.is_at_least(other) for other in order)


def test_a_token_is_valid_until_it_expires_or_is_revoked() -> None:
    brief = replace(CI, expires_at=NOON + HOUR)
    assert CI.is_good(NOON + 1000 * HOUR)
    assert brief.is_good(NOON + HOUR - MINUTE)
    assert not brief.is_good(NOON + HOUR)
    assert not replace(CI, revoked_at=NOON).is_good(NOON)


def test_the_digest_is_not_in_the_repr() -> None:
    assert "digest" not in repr(CI)


@pytest.mark.parametrize(
    "odd",
    [
        replace(CI, name=""),
        replace(CI, name="a/b"),
        replace(CI, name="ADMIN"),
        replace(CI, group="web"),
        replace(CI, role=Role.GROUP),
        replace(CI, expires_at=NOON),
    ],
)
def test_an_invalid_token_is_refused(odd: Token) -> None:
    with pytest.raises(InvalidInput):
        tokens.check_token(odd, [], NOON)


def test_a_name_is_reserved_while_its_token_is_valid() -> None:
    other = replace(CI, id="2f", name="CI")
    with pytest.raises(Conflict):
        tokens.check_token(other, [CI], NOON)
    tokens.check_token(other, [replace(CI, revoked_at=NOON)], NOON)
    tokens.check_token(other, [replace(CI, expires_at=NOON)], NOON)


def test_lookup_by_name_prefers_the_valid_token() -> None:
    old = replace(CI, revoked_at=NOON)
    new = replace(CI, id="2f")
    assert tokens.find_token([old, new], "Ci", NOON) == new
    assert tokens.find_token([old, new], "1F", NOON) == old
    assert tokens.find_token([old], "ci", NOON) == old
    assert tokens.find_token([new], "nobody", NOON) is None
