"""A signed-in browser: session cookie, key and the headers of the portal's page."""

import json
from dataclasses import dataclass
from http.cookies import Morsel, SimpleCookie
from typing import Any

from tests.server.support.api_description import faults
from tests.server.support.service import ReceivedResponse, RunningService, send_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Browser:
    """A browser with one session that shows a page of the service."""

    control: str
    name: str
    value: str
    key: str

    @property
    def cookie(self) -> str:
        """Return the Cookie header."""
        return f"{self.name}={self.value}"

    def request(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> ReceivedResponse:
        """Send a request as the portal's page does, unless `headers` override it."""
        data = None if body is None else json.dumps(body).encode()
        own = {"Cookie": self.cookie, "Content_Type": "application/json"}
        if self.key:
            own["Forewarn_Session_Key"] = self.key
        if method not in ("GET", "HEAD"):
            own["Origin"] = self.control
        answer = send_request(method, self.control + path, data, **{**own, **headers})
        kind = answer.headers.get_content_type()
        assert not faults(method, path, answer.status, kind, answer.body), answer
        return answer


def only_cookie(answer: ReceivedResponse) -> Morsel[str]:
    """Return the only cookie that a response sets."""
    cookies = SimpleCookie("; ".join(answer.headers.get_all("Set-Cookie", [])))
    (cookie,) = cookies.values()
    return cookie


def sign_in(service: RunningService, **headers: Any) -> Browser:
    """Sign in with the token of `service`."""
    answer = service.request("POST", "/v1/session", **headers)
    assert answer.status == 201, answer.body
    cookie = only_cookie(answer)
    return Browser(
        control=service.control,
        name=cookie.key,
        value=cookie.value,
        key=answer.json["session_key"],
    )


def session_of(browser: Browser) -> Any:
    """Return the session as the service reports it."""
    answer = browser.request("GET", "/v1/session")
    assert answer.status == 200, answer.body
    return answer.json
