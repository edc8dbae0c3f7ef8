"""Sessions: sealing, unsealing, keys, expiry and signing out."""

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
    MOST_SIGN_OUTS,
    Lapsed,
    PortalSession,
    Sessions,
    SignOuts,
    StartedSession,
    decode_sign_outs,
    encode_sign_outs,
    key_digest,
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
    digest=st.text("abcXYZ019_-", min_size=1, max_size=43),
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


@given(st.text() | st.from_regex(r"\A2\.[0-9a-f]*\.[0-9]+(\.[\w-]{43}){2}\Z"))
def test_arbitrary_text_is_not_a_session(text: str) -> None:
    assert unseal(text, KEY) is None
    assert token_named(text) != ""


def test_a_lone_surrogate_is_not_a_session() -> None:
    assert unseal("\ud800", KEY) is None
    assert unseal("2..1.x.\udfff", KEY) is None


def test_the_seal_is_stable_across_releases() -> None:
    key = key_for(root_key("one"), "digest")
    mark = "h_0IpeWqZF8BJREl9La3A4JPtG0bXV4BQEY0yxoGXeU"
    session = PortalSession(token="ci", ends=1, digest="d")
    assert seal(session, key) == f"2.ci.1.d.{mark}"


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
def sessions(system: System, tokens: Tokens, clock: ManualClock) -> Sessions:
    return Sessions(system.engine, tokens, clock)


def signed_in(tokens: Tokens, sessions: Sessions, text: str) -> StartedSession:
    holder = tokens.holder_of(text)
    assert isinstance(holder, TokenHolder)
    return sessions.begin(holder)


def holder_of(
    sessions: Sessions, session: StartedSession
) -> TokenHolder | UnknownToken | Lapsed:
    """Return the holder of a request with both halves of `session`."""
    return sessions.holder_of(session.cookie, session.key)


def test_a_session_has_all_permissions_of_its_token(
    tokens: Tokens, sessions: Sessions, clock: ManualClock
) -> None:
    clock.move_to(NOON + SECOND / 2)
    _, text = tokens.create("web-team", Role.GROUP, group="web", by="admin")
    shown = tokens.holder_of(text)
    assert isinstance(shown, TokenHolder)
    session = sessions.begin(shown)
    assert holder_of(sessions, session) == session.holder
    assert session.holder == replace(
        shown, session=key_digest(session.key), signed_in_until=NOON + LASTS
    )


def test_a_session_neither_is_nor_contains_the_token(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, text = tokens.create("ci", Role.VIEWER, by="admin")
    session = signed_in(tokens, sessions, text)
    assert text.split("_", 2)[2] not in session.cookie
    assert token.digest not in session.cookie
    assert tokens.holder_of(session.cookie) is UnknownToken.WRONG


def test_neither_half_of_a_session_is_enough(sessions: Sessions) -> None:
    session, other = sessions.begin(ADMIN), sessions.begin(ADMIN)
    assert session.key not in session.cookie
    assert sessions.holder_of(session.cookie, None) is Lapsed.NO_KEY
    for key in (other.key, session.holder.session, "é\udfff"):
        assert sessions.holder_of(session.cookie, key) is Lapsed.WRONG_KEY
    assert sessions.holder_of(session.key, session.key) is Lapsed.WRONG


def test_the_use_of_a_token_is_recorded_only_with_both_halves(
    system: System, tokens: Tokens, sessions: Sessions
) -> None:
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    session = signed_in(tokens, sessions, text)
    system.engine.observations.take()
    system.clock.move_to(system.clock.now() + HOUR)
    sessions.holder_of(session.cookie, None)
    assert not system.engine.observations.has_any
    holder_of(sessions, session)
    assert system.engine.observations.has_any


def test_a_session_expires_after_twelve_hours_of_real_time(
    system: System, sessions: Sessions, clock: ManualClock
) -> None:
    session = sessions.begin(ADMIN)
    system.clock.move_to(system.clock.now() + timedelta(days=9))
    clock.move_to(NOON + 12 * HOUR - SECOND)
    assert isinstance(holder_of(sessions, session), TokenHolder)
    clock.move_to(NOON + 12 * HOUR)
    assert holder_of(sessions, session) is Lapsed.OVER


def test_a_session_ends_with_its_token(
    tokens: Tokens, sessions: Sessions, system: System
) -> None:
    _, gone = tokens.create("gone", Role.VIEWER, by="admin")
    _, brief = tokens.create("brief", Role.VIEWER, lasts=HOUR, by="admin")
    revoked = signed_in(tokens, sessions, gone)
    expired = signed_in(tokens, sessions, brief)
    tokens.revoke("gone", by="admin")
    system.clock.move_to(system.clock.now() + HOUR)
    assert holder_of(sessions, revoked) is UnknownToken.REVOKED
    assert holder_of(sessions, expired) is UnknownToken.EXPIRED


def test_a_journal_reader_is_valid_as_long_as_session_and_token(
    tokens: Tokens, sessions: Sessions, clock: ManualClock
) -> None:
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    shown = tokens.holder_of(text)
    assert isinstance(shown, TokenHolder)
    signed = sessions.begin(shown).holder
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
    began = Sessions(engine, before, clock)
    own, first = signed_in(before, began, text), began.begin(ADMIN)
    after, changed = Tokens(engine, "first"), Tokens(engine, "another")
    for registry in (after, changed):
        registry.reload()
    for session in (own, first):
        assert holder_of(Sessions(engine, after, clock), session) == session.holder
        assert holder_of(Sessions(engine, changed, clock), session) is Lapsed.WRONG


def test_a_session_cannot_be_converted_to_another_token(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, text = tokens.create("ci", Role.VIEWER, by="admin")
    session = signed_in(tokens, sessions, text)
    other = session.cookie.replace(token.id, "")
    assert sessions.holder_of(other, session.key) is Lapsed.WRONG


def test_a_session_of_an_unknown_token_is_refused(sessions: Sessions) -> None:
    session = PortalSession(token="nobody", ends=2**40, digest=key_digest("key"))
    assert sessions.holder_of(seal(session, KEY), "key") is Lapsed.WRONG


def test_no_session_starts_for_an_unknown_token(sessions: Sessions) -> None:
    with pytest.raises(NotFound):
        sessions.begin(replace(ADMIN, name="ci", token="nobody"))


def test_the_store_s_content_is_not_enough_to_forge_a_session(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, _ = tokens.create("ci", Role.ADMIN, by="admin")
    stolen = PortalSession(token=token.id, ends=2**40, digest=key_digest("key"))
    for root in (b"", root_key(""), root_key(token.digest), token.digest.encode()):
        forged = seal(stolen, key_for(root, token.digest))
        assert sessions.holder_of(forged, "key") is Lapsed.WRONG


# --- signing out -------------------------------------------------------------


def test_signing_out_ends_one_session_even_after_a_restart(
    open_store: OpenStore, clock: ManualClock, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "store.db")
    engine = a_system(store).engine
    tokens = Tokens(engine, "first")
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    before = Sessions(engine, tokens, clock)
    ended, stays = signed_in(tokens, before, text), signed_in(tokens, before, text)
    before.end(ended.holder)
    before.end(before.begin(ADMIN).holder)
    after = Sessions(engine, tokens, clock)
    after.reload()
    for sessions in (before, after):
        assert holder_of(sessions, ended) is Lapsed.SIGNED_OUT
        assert not sessions.is_good(ended.holder)
        assert isinstance(holder_of(sessions, stays), TokenHolder)
        assert sessions.is_good(stays.holder)


def test_signing_out_without_a_session_writes_nothing(
    system: System, sessions: Sessions
) -> None:
    sessions.end(ADMIN)
    with system.engine.store.snapshot() as snapshot:
        assert snapshot.setting("sign_outs") is None


def a_session(number: int, *, ends: int) -> PortalSession:
    """Return a session of the admin token."""
    return PortalSession(token=None, ends=ends, digest=f"digest-{number}")


def test_many_sign_outs_of_a_token_end_its_oldest_sessions() -> None:
    sign_outs = SignOuts()
    for number in range(3 * MOST_SIGN_OUTS):
        sign_outs = sign_outs.add(a_session(number, ends=1000 + number))
        assert len(sign_outs.sessions) <= MOST_SIGN_OUTS
        every = [a_session(old, ends=1000 + old) for old in range(number + 1)]
        assert all(map(sign_outs.has, every))
    last = 1000 + 3 * MOST_SIGN_OUTS
    assert sign_outs.has(a_session(-1, ends=last - MOST_SIGN_OUTS - 1))
    assert not sign_outs.has(a_session(-1, ends=last - MOST_SIGN_OUTS))


def test_sign_outs_are_forgotten_when_their_sessions_would_have_ended(
    system: System, tokens: Tokens, sessions: Sessions, clock: ManualClock
) -> None:
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    sessions.end(signed_in(tokens, sessions, text).holder)
    clock.move_to(NOON + 12 * HOUR)
    last = sessions.begin(ADMIN)
    sessions.end(last.holder)
    with system.engine.store.snapshot() as snapshot:
        kept = decode_sign_outs(snapshot.setting("sign_outs"))
    assert {token: [*one.sessions] for token, one in kept.items()} == {
        "": [last.holder.session]
    }


def test_sign_outs_survive_encoding() -> None:
    sign_outs = {"": SignOuts(floor=7).add(a_session(1, ends=9)), "ci": SignOuts()}
    assert decode_sign_outs(encode_sign_outs(sign_outs)) == sign_outs
    assert decode_sign_outs(None) == {}
