"""One-time sign-in links: single use, one minute, and the rights of their token."""

from dataclasses import replace
from typing import cast

import pytest
from tests.server.control.test_tokens import client_with_token, refusals
from tests.server.metadata.test_rate_limit import ManualStopwatch
from tests.server.support.browser_headers import Browser, session_of, sign_in
from tests.server.support.service import (
    ReceivedResponse,
    RunningService,
    send_request,
)

from forewarn.core.tokens import Role
from forewarn.engine.tokens import TokenHolder, Tokens, UnknownToken
from forewarn.server.control.auth.sign_in_links import SignInLinks, UnusableLink

ADMIN = TokenHolder(name="admin", role=Role.ADMIN)
CI = TokenHolder(name="ci", role=Role.VIEWER, token="c1")


class FewTokens:
    """Stands in for the service's tokens: the admin token and the viewer's."""

    def holder_with(self, token: str | None) -> TokenHolder | UnknownToken:
        holders = {None: ADMIN, "c1": CI}
        return holders.get(token, UnknownToken.REVOKED)


def links(stopwatch: ManualStopwatch | None = None) -> SignInLinks:
    tokens = cast(Tokens, FewTokens())
    return SignInLinks(tokens, stopwatch or ManualStopwatch())


def code_for(service: RunningService) -> str:
    answer = service.request("POST", "/v1/portal/links")
    assert answer.status == 201
    path, _, code = answer.json["path"].partition("#sign-in=")
    assert path == "/portal/"
    assert answer.json["expires_in_seconds"] == 60
    return str(code)


def redeem(service: RunningService, code: str, **headers: str) -> ReceivedResponse:
    own = {"Authorization": f"Sign-In-Link {code}", "Origin": service.control}
    url = f"{service.control}/v1/session"
    return send_request("POST", url, None, **{**own, **headers})


# --- the codes ---------------------------------------------------------------


def test_code_can_be_used_once() -> None:
    all_links = links()
    code, other = all_links.create(CI), all_links.create(ADMIN)
    assert len(code) >= 43  # 256 bits
    assert all_links.redeem(code) == CI
    assert all_links.redeem(code) is UnusableLink.USED
    assert all_links.redeem(other) == ADMIN


def test_code_can_be_used_for_one_minute() -> None:
    stopwatch = ManualStopwatch()
    all_links = links(stopwatch)
    early, late = all_links.create(CI), all_links.create(CI)
    stopwatch.now += 59
    assert all_links.redeem(early) == CI
    stopwatch.now += 1
    assert all_links.redeem(late) is UnusableLink.UNKNOWN


@pytest.mark.parametrize("code", ["", "x", "€\udcff", "a" * 43])
def test_other_codes_are_unknown(code: str) -> None:
    all_links = links()
    all_links.create(CI)
    assert all_links.redeem(code) is UnusableLink.UNKNOWN


def test_code_of_an_invalid_token_gets_the_reason() -> None:
    all_links = links()
    code = all_links.create(replace(CI, token="gone"))
    assert all_links.redeem(code) is UnknownToken.REVOKED


def test_a_token_with_many_links_replaces_only_its_own() -> None:
    all_links = links()
    other = all_links.create(ADMIN)
    codes = [all_links.create(CI) for _ in range(9)]
    assert all_links.redeem(codes[0]) is UnusableLink.UNKNOWN
    assert [all_links.redeem(code) for code in codes[1:]] == [CI] * 8
    assert all_links.redeem(other) == ADMIN


def test_number_of_links_is_bounded() -> None:
    all_links = links()
    first = all_links.create(CI)
    for number in range(1000):
        all_links.create(replace(CI, token=str(number)))
    assert all_links.redeem(first) is UnusableLink.UNKNOWN


# --- over HTTP ---------------------------------------------------------------


def test_link_starts_a_session_with_the_rights_of_its_token(
    shared: RunningService,
) -> None:
    viewer = client_with_token(shared, "link-viewer", "viewer")
    answer = redeem(viewer, code_for(viewer))
    assert answer.status == 201
    name, _, value = answer.headers["Set-Cookie"].partition(";")[0].partition("=")
    key = answer.json["session_key"]
    browser = Browser(control=shared.control, name=name, value=value, key=key)
    session = session_of(browser)
    assert (session["name"], session["role"]) == ("link-viewer", "viewer")
    assert session["may"] == []
    assert browser.request("POST", "/v1/vms/web-0/restart").status == 403


def test_used_link_is_refused_but_is_no_guess(service: RunningService) -> None:
    code = code_for(service)
    assert redeem(service, code).status == 201
    again = redeem(service, code)
    assert (again.status, again.detail) == (401, UnusableLink.USED.value)
    assert "Set-Cookie" not in again.headers
    assert refusals(service) == {}
    wrong = redeem(service, "wrong")
    assert (wrong.status, wrong.detail) == (401, UnusableLink.UNKNOWN.value)
    assert refusals(service) == {"127.0.0.1": 1}


def test_revoking_the_token_ends_its_links(service: RunningService) -> None:
    code = code_for(client_with_token(service, "guest", "operator"))
    assert service.request("DELETE", "/v1/tokens/guest").status == 204
    answer = redeem(service, code)
    assert (answer.status, answer.detail) == (401, UnknownToken.REVOKED.value)


def test_link_is_accepted_only_for_signing_in(shared: RunningService) -> None:
    code = code_for(shared)
    for method, path in (("GET", "/v1/session"), ("POST", "/v1/vms/web-0/restart")):
        answer = send_request(
            method, shared.control + path, Authorization=f"Sign-In-Link {code}"
        )
        assert answer.status == 401
        assert "only be used to sign in" in answer.detail
    assert redeem(shared, code).status == 201  # not used up


@pytest.mark.parametrize(
    "headers", [{"Origin": "http://evil.example"}, {"Sec_Fetch_Site": "cross-site"}]
)
def test_foreign_pages_cannot_use_up_a_link(
    shared: RunningService, headers: dict[str, str]
) -> None:
    code = code_for(shared)
    assert redeem(shared, code, **headers).status == 403
    assert redeem(shared, code).status == 201


def test_session_cannot_create_links(shared: RunningService) -> None:
    answer = sign_in(shared).request("POST", "/v1/portal/links")
    assert answer.status == 401
    assert "requires a token" in answer.detail
