"""Sessions: sealing, unsealing and expiry."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.support.system import HOUR, NOON, SECOND, OpenStore, System, a_system

from forewarn.clocks import ManualClock
from forewarn.core.tokens import Role
from forewarn.engine.sessions import (
    LASTS,
    Lapsed,
    PortalSession,
    Sessions,
    key_for,
    root_key,
    seal,
    token_named,
    unseal,
)
from forewarn.engine.tokens import TokenHolder, Tokens, UnknownToken
from forewarn.errors import NotFound

KEY = key_for(b"root", "digest")
SESSIONS = st.builds(
    PortalSession,
    token=st.none() | st.text("0123456789abcdef", min_size=1, max_size=12),
    ends=st.integers(0, 2**40),
)
ADMIN = TokenHolder(name="admin", role=Role.ADMIN)


# --- sealing -----------------------------------------------------------------


@given(SESSIONS)
def test_a_sealed_session_is_unsealed(session: PortalSession) -> None:
    text = seal(session, KEY)
    assert unseal(text, KEY) == session
    assert token_named(text) == session.token


@given(SESSIONS, st.data())
def test_a_changed_character_is_refused(
    session: PortalSession, data: st.DataObject
) -> None:
    text = seal(session, KEY)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(
        st.characters().filter(lambda character: character != text[place])
    )
    assert unseal(text[:place] + other + text[place + 1 :], KEY) is None


@given(SESSIONS, st.data())
def test_a_shortened_or_extended_text_is_refused(
    session: PortalSession, data: st.DataObject
) -> None:
    text = seal(session, KEY)
    short = text[: data.draw(st.integers(0, len(text) - 1))]
    assert unseal(short, KEY) is None
    assert unseal(text + data.draw(st.text(min_size=1)), KEY) is None


@given(st.text() | st.from_regex(r"\A1\.[0-9a-f]*\.[0-9]+\.[A-Za-z0-9_-]{43}\Z"))
def test_arbitrary_text_is_not_a_session(text: str) -> None:
    assert unseal(text, KEY) is None
    assert token_named(text) != ""


def test_a_lone_surrogate_is_not_a_session() -> None:
    assert unseal("\ud800", KEY) is None
    assert unseal("1..1.\udfff", KEY) is None


def test_the_seal_is_stable_across_releases() -> None:
    key = key_for(root_key("one"), "digest")
    mark = "0GPRn4Nmjj_7pjK4ciY4nf6JlJczf_Lt1SjXV55Hd9U"
    assert seal(PortalSession(token="ci", ends=1), key) == f"1.ci.1.{mark}"


@given(SESSIONS, st.binary(max_size=40), st.text(max_size=40))
def test_another_key_does_not_unseal_it(
    session: PortalSession, root: bytes, digest: str
) -> None:
    other = key_for(root + b"else", digest)
    assert unseal(seal(session, KEY), other) is None


def test_every_admin_token_and_digest_has_its_own_key() -> None:
    roots = [root_key("one"), root_key("two")]
    keys = {key_for(root, digest) for root in roots for digest in ("a", "b")}
    assert len(keys) == 4


# --- sessions ----------------------------------------------------------------


@pytest.fixture
def tokens(system: System) -> Tokens:
    return Tokens(system.engine, "first")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def sessions(tokens: Tokens, clock: ManualClock) -> Sessions:
    return Sessions(tokens, clock)


def signed_in(tokens: Tokens, sessions: Sessions, text: str) -> tuple[str, TokenHolder]:
    holder = tokens.holder_of(text)
    assert isinstance(holder, TokenHolder)
    return sessions.begin(holder)


def test_a_session_has_all_permissions_of_its_token(
    tokens: Tokens, sessions: Sessions, clock: ManualClock
) -> None:
    clock.move_to(NOON + SECOND / 2)
    _, text = tokens.create("web-team", Role.GROUP, group="web", by="admin")
    shown = tokens.holder_of(text)
    assert isinstance(shown, TokenHolder)
    session, holder = sessions.begin(shown)
    assert sessions.holder_of(session) == holder
    assert holder == replace(shown, signed_in_until=NOON + LASTS)


def test_a_session_neither_is_nor_contains_the_token(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, text = tokens.create("ci", Role.VIEWER, by="admin")
    session, _ = signed_in(tokens, sessions, text)
    assert text.split("_", 2)[2] not in session
    assert token.digest not in session
    assert tokens.holder_of(session) is UnknownToken.WRONG


def test_a_session_expires_after_twelve_hours_of_real_time(
    system: System, sessions: Sessions, clock: ManualClock
) -> None:
    session, _ = sessions.begin(ADMIN)
    system.clock.move_to(system.clock.now() + timedelta(days=9))
    clock.move_to(NOON + 12 * HOUR - SECOND)
    assert isinstance(sessions.holder_of(session), TokenHolder)
    clock.move_to(NOON + 12 * HOUR)
    assert sessions.holder_of(session) is Lapsed.OVER


def test_a_session_ends_with_its_token(
    tokens: Tokens, sessions: Sessions, system: System
) -> None:
    _, gone = tokens.create("gone", Role.VIEWER, by="admin")
    _, brief = tokens.create("brief", Role.VIEWER, lasts=HOUR, by="admin")
    revoked, _ = signed_in(tokens, sessions, gone)
    expired, _ = signed_in(tokens, sessions, brief)
    tokens.revoke("gone", by="admin")
    system.clock.move_to(system.clock.now() + HOUR)
    assert sessions.holder_of(revoked) is UnknownToken.REVOKED
    assert sessions.holder_of(expired) is UnknownToken.EXPIRED


def test_a_journal_reader_is_valid_as_long_as_session_and_token(
    tokens: Tokens, sessions: Sessions, clock: ManualClock
) -> None:
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    shown = tokens.holder_of(text)
    assert isinstance(shown, TokenHolder)
    _, signed = sessions.begin(shown)
    clock.move_to(NOON + 12 * HOUR - SECOND)
    assert sessions.is_good(signed)
    clock.move_to(NOON + 12 * HOUR)
    assert not sessions.is_good(signed)
    assert sessions.is_good(shown)
    tokens.revoke("ci", by="admin")
    assert not sessions.is_good(shown)


def test_sessions_survive_a_restart_but_not_a_new_admin_token(
    open_store: OpenStore, clock: ManualClock, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "store.db")
    engine = a_system(store).engine
    before = Tokens(engine, "first")
    _, text = before.create("ci", Role.VIEWER, by="admin")
    began = Sessions(before, clock)
    own, first = signed_in(before, began, text), began.begin(ADMIN)
    after, changed = Tokens(engine, "first"), Tokens(engine, "another")
    for registry in (after, changed):
        registry.reload()
    for session, holder in (own, first):
        assert Sessions(after, clock).holder_of(session) == holder
        assert Sessions(changed, clock).holder_of(session) is Lapsed.WRONG


def test_a_session_cannot_be_converted_to_another_token(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, text = tokens.create("ci", Role.VIEWER, by="admin")
    session, _ = signed_in(tokens, sessions, text)
    assert sessions.holder_of(session.replace(token.id, "")) is Lapsed.WRONG


def test_a_session_of_an_unknown_token_is_refused(sessions: Sessions) -> None:
    sealed = seal(PortalSession(token="nobody", ends=2**40), KEY)
    assert sessions.holder_of(sealed) is Lapsed.WRONG


def test_no_session_starts_for_an_unknown_token(sessions: Sessions) -> None:
    with pytest.raises(NotFound):
        sessions.begin(replace(ADMIN, name="ci", token="nobody"))


def test_the_store_s_content_is_not_enough_to_forge_a_session(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, _ = tokens.create("ci", Role.ADMIN, by="admin")
    stolen = PortalSession(token=token.id, ends=2**40)
    for root in (b"", root_key(""), root_key(token.digest), token.digest.encode()):
        forged = seal(stolen, key_for(root, token.digest))
        assert sessions.holder_of(forged) is Lapsed.WRONG
