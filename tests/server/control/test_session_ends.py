"""End of portal sessions: sign-out, expiry, revoked tokens, guessed cookies."""

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.conftest import Serve
from tests.server.control.test_tokens import client_with_token, refusals
from tests.server.support.browser_headers import Browser, sign_in
from tests.server.support.service import (
    TOKEN,
    ReceivedResponse,
    RunningService,
    a_service,
)

from forewarn.clocks import SystemClock
from forewarn.engine.sessions import PortalSession, key_for, root_key, seal

HOURS = 12 * 3600


@pytest.fixture(scope="module")
def browser(shared: RunningService) -> Browser:
    return sign_in(shared)


def session_cookie(first: str, *, lasts: int) -> str:
    """Return a session cookie of the admin token, sealed as the service does."""
    digest = sha256(first.encode()).hexdigest()
    ends = int(SystemClock().now().timestamp()) + lasts
    return seal(PortalSession(token=None, ends=ends), key_for(root_key(digest), digest))


# --- end of a session --------------------------------------------------------


def is_removed(browser: Browser, answer: ReceivedResponse) -> bool:
    """Return whether a response deletes the browser's cookie."""
    deletion = f"{browser.name}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0"
    return answer.headers.get_all("Set-Cookie") == [deletion]


def test_sign_out_deletes_the_cookie(browser: Browser) -> None:
    answer = browser.request("DELETE", "/v1/session")
    assert answer.status == 204
    assert is_removed(browser, answer)


@pytest.mark.parametrize(
    "value",
    [
        "x",
        "1..9999999999.",
        "1..9999999999.AAAA",
        "2..1.x",
        "1.nobody.1.x",
        "\xff",
        '"',
    ],
)
def test_forged_cookie_is_refused_and_deleted(
    shared: RunningService, browser: Browser, value: str
) -> None:
    answer = replace(browser, value=value).request("GET", "/v1/vms")
    assert answer.status == 401
    assert answer.detail == "the session is not known; sign in again"
    assert is_removed(browser, answer)


def test_cookie_with_a_later_expiry_is_refused(browser: Browser) -> None:
    version, token, ends, mark = browser.value.split(".")
    longer = f"{version}.{token}.{int(ends) + 1}.{mark}"
    assert replace(browser, value=longer).request("GET", "/v1/vms").status == 401


def test_viewer_cannot_become_admin_by_editing_the_cookie(
    shared: RunningService,
) -> None:
    browser = sign_in(client_with_token(shared, "climber", "viewer"))
    version, _, ends, mark = browser.value.split(".")
    higher = replace(browser, value=f"{version}..{ends}.{mark}")
    assert higher.request("GET", "/v1/session").status == 401


def test_session_expires_after_twelve_hours_without_counting_as_a_guess(
    serve: Serve,
) -> None:
    service = serve()
    browser = sign_in(service)
    nearly = replace(browser, value=session_cookie(TOKEN, lasts=60))
    assert nearly.request("GET", "/v1/vms").status == 200
    over = replace(browser, value=session_cookie(TOKEN, lasts=0))
    answers = [over.request("GET", "/v1/vms") for _ in range(25)]
    assert {answer.status for answer in answers} == {401}
    assert answers[0].detail == "the session is over; sign in again"
    assert is_removed(browser, answers[0])
    assert refusals(service) == {}


def test_session_does_not_depend_on_the_service_clock(
    service: RunningService,
) -> None:
    browser = sign_in(service)
    service.advance(7 * 86_400)
    assert browser.request("GET", "/v1/vms").status == 200


def test_session_ends_when_its_token_is_revoked(service: RunningService) -> None:
    browser = sign_in(client_with_token(service, "ci", "viewer"))
    stays = sign_in(service)
    assert service.request("DELETE", "/v1/tokens/ci").status == 204
    answer = browser.request("GET", "/v1/vms")
    assert answer.status == 401
    assert "revoked" in answer.detail
    assert is_removed(browser, answer)
    assert stays.request("GET", "/v1/vms").status == 200


def test_session_ends_when_its_token_expires(service: RunningService) -> None:
    browser = sign_in(client_with_token(service, "ci", "viewer", expires_in_seconds=60))
    service.advance(60)
    answer = browser.request("GET", "/v1/vms")
    assert answer.status == 401
    assert "expired" in answer.detail


def test_stream_of_a_session_ends_with_its_token(service: RunningService) -> None:
    browser = sign_in(client_with_token(service, "ci", "viewer"))
    request = Request(
        f"{service.control}/v1/stream", headers={"Cookie": browser.cookie}
    )
    with urlopen(request, timeout=PATIENCE) as stream:
        assert stream.readline().startswith(b":")
        service.request("DELETE", "/v1/tokens/ci")
        assert b"Announced" not in stream.read()


def test_stream_of_a_session_ends_with_the_session(service: RunningService) -> None:
    brief = replace(sign_in(service), value=session_cookie(TOKEN, lasts=5))
    url = f"{service.control}/v1/stream"
    with urlopen(
        Request(url, headers={"Cookie": brief.cookie}), timeout=PATIENCE
    ) as stream:
        while brief.request("GET", "/v1/session").status == 200:
            pass
        service.announce(vms=["lone"])
        assert b"Announced" not in stream.read()


def test_sessions_survive_a_service_restart(tmp_path: Path) -> None:
    flags = {"store": f"sqlite:///{tmp_path / 'store.db'}"}
    with a_service(tmp_path, **flags) as service:
        first, own = (
            sign_in(service),
            sign_in(client_with_token(service, "ci", "viewer")),
        )
    with a_service(tmp_path, **flags) as again:
        port = urlsplit(again.control).port
        for old_browser in (first, own):
            moved = replace(old_browser, control=again.control, name=f"forewarn-{port}")
            assert moved.request("GET", "/v1/vms").status == 200


# --- guessing ----------------------------------------------------------------


def test_guessing_sessions_is_counted_and_rate_limited(serve: Serve) -> None:
    service = serve()
    browser = sign_in(service)
    wrong = replace(browser, value="1..9999999999.guess")
    answers = [wrong.request("GET", "/v1/vms") for _ in range(25)]
    assert [answer.status for answer in answers[:20]] == [401] * 20
    # Fewer than five are refused if the requests took several seconds.
    refused = [answer for answer in answers[20:] if answer.status == 429]
    assert int(refused[0].headers["Retry-After"]) >= 1
    assert is_removed(browser, refused[0])
    assert refusals(service) == {"127.0.0.1": 25}
    assert browser.request("GET", "/v1/vms").status == 200
