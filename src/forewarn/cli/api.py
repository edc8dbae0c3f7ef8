"""A client for the control API: requests, pages, streams, TLS and error messages."""

import json
import os
import ssl
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from http.client import HTTPException, HTTPResponse, IncompleteRead
from urllib.error import HTTPError, URLError
from urllib.parse import quote, urlencode
from urllib.request import (
    BaseHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)
from uuid import uuid4

from forewarn import __version__
from forewarn.cli.contexts import ServiceChoice, choose, token_path
from forewarn.cli.responses import object_from
from forewarn.errors import Lost, Misunderstood, Refused, Unreachable, WrongUsage

_PAGE_SIZE = 1000  # items; the largest page that the service returns
_TIMEOUT = 60.0  # seconds for one response

_UNKNOWN_AUTHORITY = (
    "is signed by an unknown certificate authority; specify the authority's certificate"
    " with --ca FILE"
)
_OTHER_NAME = (
    "does not match the hostname; in --url, use a hostname from the certificate, or"
    " give the service a certificate for this hostname"
)

#: The error if the URL is that of the metadata service.
METADATA_ENDPOINT = (
    "this address is the metadata endpoint for VMs, not the control API, which usually"
    " has port 8255 (check --url)"
)

#: OpenSSL's verification error codes.
_CERTIFICATE_PROBLEMS: Mapping[int, str] = {
    9: "is not valid yet; check the clocks on both machines",
    10: "has expired; restart the service with a new one (--tls-cert)",
    18: _UNKNOWN_AUTHORITY,
    19: _UNKNOWN_AUTHORITY,
    20: _UNKNOWN_AUTHORITY,
    21: _UNKNOWN_AUTHORITY,
    62: _OTHER_NAME,
    64: _OTHER_NAME,
}


@dataclass(frozen=True, slots=True)
class ControlApi:
    """A client for the control API at `url`."""

    url: str
    token: str | None  # None if no token was found
    ca: str | None = None  # None for this machine's certificate authorities
    context: str | None = None  # the name of the context; None for the local service

    @property
    def title(self) -> str:
        """The address of the service and its context, if any, for messages."""
        return f"{self.context}, {self.url}" if self.context else self.url

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        timeout: float = _TIMEOUT,
    ) -> object:
        """Send a request; return the response's JSON, or None if the body is empty."""
        return self.send(method, path, body, timeout=timeout)[1]

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        timeout: float = _TIMEOUT,
    ) -> tuple[int, object]:
        """Send a request; retry the request once if the connection breaks.

        Return the response's status and JSON.
        """
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        headers = {"Accept": "application/json"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        if method == "POST":
            headers["Idempotency-Key"] = str(uuid4())
        request = self._request(method, path, headers, data)
        try:
            return self._exchange(request, timeout)
        except Lost:
            return self._exchange(request, timeout)

    def items(
        self,
        path: str,
        query: Sequence[tuple[str, str]] = (),
        *,
        size: int = _PAGE_SIZE,
    ) -> Iterator[object]:
        """Yield all items of a list, reading pages of at most `size` items."""
        after: str | None = dict(query).get("after")
        fixed = [(name, value) for name, value in query if name != "after"]
        while True:
            pairs = [*fixed, ("limit", str(min(size, _PAGE_SIZE)))]
            if after is not None:
                pairs.append(("after", after))
            page = object_from(self.request("GET", f"{path}?{urlencode(pairs)}"))
            if not isinstance(page.plain.get("items"), list):
                raise self._misunderstood()
            yield from page.list("items")
            following = page.text("next")
            if following is None or following == after:
                return
            after = following

    def check_names(self, **names: Iterable[str] | None) -> None:
        """Raise `Refused` if a name is unknown; the keywords are vms, hosts, groups."""
        for kind, several in names.items():
            for name in several or ():
                self.request("GET", f"/v1/{kind}/{segment(name)}")

    def now(self) -> datetime:
        """Return the service's time, which may differ from this machine's."""
        time = object_from(self.request("GET", "/v1/clock")).time("now")
        if time is None:
            raise Misunderstood("the response does not contain the time")
        return time

    @contextmanager
    def stream(
        self, path: str, *, after: int, timeout: float
    ) -> Iterator[Iterable[bytes]]:
        """Read server-sent events line by line, starting after position `after`."""
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        request = self._request("GET", path, headers)
        with self._translated_errors(timeout), self._open(request, timeout) as response:
            yield response

    def _request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        data: bytes | None = None,
    ) -> Request:
        request = Request(f"{self.url}{path}", data=data, method=method)
        for name, value in headers.items():
            request.add_header(name, value)
        request.add_header("User-Agent", f"forewarn/{__version__}")
        if self.token is not None:
            request.add_header("Authorization", f"Bearer {self.token}")
        return request

    def _open(self, request: Request, timeout: float) -> HTTPResponse:
        handlers: list[BaseHandler] = [ProxyHandler({}), _NoRedirects()]
        if self.url.startswith("https:"):
            handlers.append(HTTPSHandler(context=_tls_context(self.ca)))
        response: HTTPResponse = build_opener(*handlers).open(request, timeout=timeout)
        return response

    def _exchange(self, request: Request, timeout: float) -> tuple[int, object]:
        with self._translated_errors(timeout), self._open(request, timeout) as response:
            body = response.read()
        try:
            return response.status, json.loads(body) if body else None
        except (ValueError, RecursionError) as error:
            raise self._misunderstood() from error

    def _misunderstood(self) -> Misunderstood:
        return Misunderstood(f"{self.url} is not a forewarn control API; check --url")

    @contextmanager
    def _translated_errors(self, timeout: float) -> Iterator[None]:
        try:
            yield
        except HTTPError as error:
            with error:
                raise self._refusal(error) from None
        except URLError as error:
            raise self._connection_error(error.reason, timeout) from error
        except (OSError, HTTPException) as error:
            raise self._connection_error(error, timeout) from error

    def _refusal(self, error: HTTPError) -> Refused:
        reason = _problem_message(error)
        if error.code == 401:
            problem = f"token rejected ({reason})" if self.token else "no token found"
            return Refused(
                f"{problem}; set $FOREWARN_TOKEN, add the service with `forewarn"
                " context add`, or store the token in"
                f" {token_path(os.environ)}",
                error.code,
            )
        status = f"HTTP {error.code} {error.reason}"
        return Refused(reason or f"{self.url} returned {status}", error.code)

    def _connection_error(self, reason: object, timeout: float) -> Unreachable:
        if isinstance(reason, ssl.SSLError):
            return _tls_error(reason, self.url)
        if isinstance(reason, ConnectionRefusedError):
            return Unreachable(
                f"cannot connect to {self.url}: connection refused; is `forewarn serve`"
                " running there? (check --url)"
            )
        if isinstance(reason, TimeoutError):
            return Unreachable(f"no response from {self.url} within {timeout:g} s")
        if isinstance(reason, ConnectionError | IncompleteRead):
            return Lost(
                f"the connection to {self.url} was lost before a response arrived"
                + _https_hint(self.url)
            )
        if isinstance(reason, HTTPException):
            return Unreachable(f"the server at {self.url} does not speak HTTP")
        return Unreachable(f"cannot reach {self.url}: {reason}")


@cache
def require_dry_runs(api: ControlApi) -> None:
    """Raise `Refused` if the service is too old for dry runs.

    Such a service ignores the parameter and carries out the command.
    """
    if object_from(api.request("GET", "/readyz")).text("version") is None:
        raise Refused(
            f"the service at {api.title} is too old for dry runs; upgrade it", 400
        )


def api_of(args: Namespace) -> ControlApi:
    """Return a client for the service that options, environment and contexts choose."""
    return api_for(choose(args, os.environ))


def api_for(choice: ServiceChoice) -> ControlApi:
    """Return a client for a service."""
    token = choice.token
    if token is not None and not (token.isascii() and token.isprintable()):
        raise WrongUsage(
            f"the token ({choice.token_source}) contains invalid characters"
        )
    return ControlApi(choice.url, token, choice.ca, choice.context)


def segment(text: str) -> str:
    """Percent-encode a name or an ID for use as a single path segment."""
    if not text.strip():
        raise WrongUsage("a name or an ID is empty")
    return quote(text, safe="")


def _problem_message(error: HTTPError) -> str | None:
    """Extract the message from an RFC 9457 problem or a /readyz response."""
    try:
        plain = json.loads(error.read())
    except (OSError, HTTPException, ValueError):
        return None
    if not isinstance(plain, dict):
        return None
    if isinstance(plain.get("error"), str):  # the format of the metadata endpoint
        return METADATA_ENDPOINT
    message = plain.get("detail") or plain.get("reason") or plain.get("title")
    return message if isinstance(message, str) else None


# --- TLS ---------------------------------------------------------------------


class _NoRedirects(HTTPRedirectHandler):
    """Rejects redirects, which would send the token to another server."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        return None


def _tls_context(ca: str | None) -> ssl.SSLContext:
    """Return a TLS context that trusts the CAs in the file `ca`, or this machine's."""
    try:
        return ssl.create_default_context(cafile=ca)
    except ssl.SSLError as error:
        raise WrongUsage(f"--ca: {ca} contains no PEM certificate") from error
    except OSError as error:
        raise WrongUsage(f"--ca: cannot read {ca}: {error.strerror}") from error


def _tls_error(error: ssl.SSLError, url: str) -> Unreachable:
    """Return an error that explains why TLS with `url` failed."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = _CERTIFICATE_PROBLEMS.get(
            error.verify_code, f"is invalid: {error.verify_message}"
        )
        return Unreachable(f"the certificate for {url} {why}")
    if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
        return Lost(f"the connection to {url} was lost before a response arrived")
    plain = url.replace("https:", "http:", 1)
    return Unreachable(
        f"the server at {url} does not speak TLS ({error.reason or error}); if the"
        f" service has no certificate, use {plain}"
    )


def _https_hint(url: str) -> str:
    """Return a hint to use https, or "" if `url` already does."""
    if url.startswith("https:"):
        return ""
    https = url.replace("http:", "https:", 1)
    return f"; if the service has a certificate, use {https}"
