"""Sessions: sealed, opened again, and over in time."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engine.system import HOUR, NOON, SECOND, OpenStore, System, a_system

from forewarn.clocks import ManualClock
from forewarn.core.tokens import Role
from forewarn.engine.sessions import (
    LASTS,
    Lapsed,
    Session,
    Sessions,
    key_for,
    root_key,
    seal,
    token_named,
    unseal,
)
from forewarn.engine.tokens import Holder, Tokens, Unknown
from forewarn.errors import NotFound

KEY = key_for(b"root", "digest")
SESSIONS = st.builds(
    Session,
    token=st.none() | st.text("0123456789abcdef", min_size=1, max_size=12),
    ends=st.integers(0, 2**40),
)
ADMIN = Holder(name="admin", role=Role.ADMIN)


# --- the seal ----------------------------------------------------------------


@given(SESSIONS)
def test_what_was_sealed_is_read_again(session: Session) -> None:
    text = seal(session, KEY)
    assert unseal(text, KEY) == session
    assert token_named(text) == session.token


@given(SESSIONS, st.data())
def test_with_any_letter_changed_it_is_refused(
    session: Session, data: st.DataObject
) -> None:
    text = seal(session, KEY)
    place = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda each: each != text[place]))
    assert unseal(text[:place] + other + text[place + 1 :], KEY) is None


@given(SESSIONS, st.data())
def test_with_anything_cut_off_or_added_it_is_refused(
    session: Session, data: st.DataObject
) -> None:
    text = seal(session, KEY)
    short = text[: data.draw(st.integers(0, len(text) - 1))]
    assert unseal(short, KEY) is None
    assert unseal(text + data.draw(st.text(min_size=1)), KEY) is None


@given(st.text() | st.from_regex(r"\A1\.[0-9a-f]*\.[0-9]+\.[A-Za-z0-9_-]{43}\Z"))
def test_no_text_is_taken_for_a_session(text: str) -> None:
    assert unseal(text, KEY) is None
    assert token_named(text) != ""


def test_half_a_letter_is_not_taken_for_a_session() -> None:
    assert unseal("\ud800", KEY) is None
    assert unseal("1..1.\udfff", KEY) is None


def test_what_is_sealed_today_is_known_by_the_next_release() -> None:
    key = key_for(root_key("one"), "digest")
    mark = "0GPRn4Nmjj_7pjK4ciY4nf6JlJczf_Lt1SjXV55Hd9U"
    assert seal(Session(token="ci", ends=1), key) == f"1.ci.1.{mark}"


@given(SESSIONS, st.binary(max_size=40), st.text(max_size=40))
def test_another_key_does_not_open_it(
    session: Session, root: bytes, digest: str
) -> None:
    other = key_for(root + b"else", digest)
    assert unseal(seal(session, KEY), other) is None


def test_every_first_token_and_every_digest_has_a_key_of_its_own() -> None:
    roots = [root_key("one"), root_key("two")]
    keys = {key_for(root, digest) for root in roots for digest in ("a", "b")}
    assert len(keys) == 4


# --- sessions ----------------------------------------------------------------


@pytest.fixture
def tokens(system: System) -> Tokens:
    return Tokens(system.engine, "first")


@pytest.fixture
def wall() -> ManualClock:
    return ManualClock(NOON)


@pytest.fixture
def sessions(tokens: Tokens, wall: ManualClock) -> Sessions:
    return Sessions(tokens, wall)


def signed_in(tokens: Tokens, sessions: Sessions, text: str) -> tuple[str, Holder]:
    holder = tokens.holder_of(text)
    assert isinstance(holder, Holder)
    return sessions.begin(holder)


def test_who_signed_in_is_known_again_with_all_that_his_token_is_for(
    tokens: Tokens, sessions: Sessions, wall: ManualClock
) -> None:
    wall.move_to(NOON + SECOND / 2)
    _, text = tokens.create("web-team", Role.GROUP, group="web", by="admin")
    shown = tokens.holder_of(text)
    assert isinstance(shown, Holder)
    session, holder = sessions.begin(shown)
    assert sessions.holder_of(session) == holder
    assert holder == replace(shown, signed_in_until=NOON + LASTS)


def test_a_session_is_not_the_token_and_does_not_hold_it(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, text = tokens.create("ci", Role.VIEWER, by="admin")
    session, _ = signed_in(tokens, sessions, text)
    assert text.split("_", 2)[2] not in session
    assert token.digest not in session
    assert tokens.holder_of(session) is Unknown.WRONG


def test_a_session_is_over_after_twelve_hours_on_the_wall(
    system: System, sessions: Sessions, wall: ManualClock
) -> None:
    session, _ = sessions.begin(ADMIN)
    system.clock.move_to(system.clock.now() + timedelta(days=9))
    wall.move_to(NOON + 12 * HOUR - SECOND)
    assert isinstance(sessions.holder_of(session), Holder)
    wall.move_to(NOON + 12 * HOUR)
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
    assert sessions.holder_of(revoked) is Unknown.REVOKED
    assert sessions.holder_of(expired) is Unknown.EXPIRED


def test_who_has_begun_to_follow_is_good_as_long_as_his_session_and_his_token(
    tokens: Tokens, sessions: Sessions, wall: ManualClock
) -> None:
    _, text = tokens.create("ci", Role.VIEWER, by="admin")
    shown = tokens.holder_of(text)
    assert isinstance(shown, Holder)
    _, signed = sessions.begin(shown)
    wall.move_to(NOON + 12 * HOUR - SECOND)
    assert sessions.is_good(signed)
    wall.move_to(NOON + 12 * HOUR)
    assert not sessions.is_good(signed)
    assert sessions.is_good(shown)
    tokens.revoke("ci", by="admin")
    assert not sessions.is_good(shown)


def test_sessions_outlive_the_service_but_not_its_first_token(
    open_store: OpenStore, wall: ManualClock, tmp_path: Path
) -> None:
    store = open_store(tmp_path / "store.db")
    engine = a_system(store).engine
    before = Tokens(engine, "first")
    _, text = before.create("ci", Role.VIEWER, by="admin")
    began = Sessions(before, wall)
    own, first = signed_in(before, began, text), began.begin(ADMIN)
    after, changed = Tokens(engine, "first"), Tokens(engine, "another")
    for each in (after, changed):
        each.reload()
    for session, holder in (own, first):
        assert Sessions(after, wall).holder_of(session) == holder
        assert Sessions(changed, wall).holder_of(session) is Lapsed.WRONG


def test_a_session_of_one_token_is_not_made_into_one_of_another(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, text = tokens.create("ci", Role.VIEWER, by="admin")
    session, _ = signed_in(tokens, sessions, text)
    assert sessions.holder_of(session.replace(token.id, "")) is Lapsed.WRONG


def test_a_session_whose_token_nobody_knows_is_not_known(sessions: Sessions) -> None:
    sealed = seal(Session(token="nobody", ends=2**40), KEY)
    assert sessions.holder_of(sealed) is Lapsed.WRONG


def test_no_session_begins_for_a_token_that_nobody_knows(sessions: Sessions) -> None:
    with pytest.raises(NotFound):
        sessions.begin(replace(ADMIN, name="ci", token="nobody"))


def test_what_the_store_holds_is_not_enough_to_make_one(
    tokens: Tokens, sessions: Sessions
) -> None:
    token, _ = tokens.create("ci", Role.ADMIN, by="admin")
    stolen = Session(token=token.id, ends=2**40)
    for root in (b"", root_key(""), root_key(token.digest), token.digest.encode()):
        forged = seal(stolen, key_for(root, token.digest))
        assert sessions.holder_of(forged) is Lapsed.WRONG
