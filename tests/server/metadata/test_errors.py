"""Errors of the metadata plane: status, text and precedence."""

import json
from dataclasses import dataclass
from itertools import combinations

import pytest
from tests.server.metadata.test_handler import VERSIONS
from tests.server.support.dialogs import ParsedResponse, a_request, read
from tests.server.support.handlers import EVENTS, a_harness

from forewarn.server.metadata.handler import ApproveFirst
from forewarn.server.metadata.transport.requests import parse_head

GOOD = b'{"StartRequests":[{"EventId":"e0"}]}'
UNMARKED = b'{ "error": "Bad request: . Required metadata header not specified" }'
NOT_FOUND = b'{ "error": "Not found" }'


def newest(*versions: str) -> bytes:
    listed = ", ".join(f'"{version}"' for version in versions)
    return (
        b'{ "error": "Bad request. api-version is invalid or was not specified in the'
        b' request. For more information refer to aka.ms/azureimds", "newest-versions":'
        b" [ " + listed.encode() + b" ] }"
    )


NEWEST_OF_EVENTS = newest("2020-07-01", "2019-08-01", "2019-04-01")
NEWEST_OF_INSTANCE = newest("2025-04-07", "2024-07-17", "2024-03-15")


def error_of(said: ParsedResponse) -> str:
    """Return the text of an error in the documented format."""
    assert said.header(b"content-type") == b"application/json; charset=utf-8"
    text = json.loads(said.body)["error"]
    assert isinstance(text, str)
    return text


# --- Metadata header ---------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_get_without_the_header_gets_400_in_every_version(version: str) -> None:
    target = f"/metadata/scheduledevents?api-version={version}"
    response = a_harness().request(target, marked=False)
    assert (response.status, response.body) == (400, UNMARKED)


@pytest.mark.parametrize("value", ["false", "", "1", "yes", "true, true"])
def test_other_header_value_counts_as_missing(value: str) -> None:
    response = a_harness().request(EVENTS, f"Metadata: {value}", marked=False)
    assert response.body == UNMARKED


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_post_without_the_header_gets_400_since_2017_08_01(version: str) -> None:
    target = f"/metadata/scheduledevents?api-version={version}"
    response = a_harness().request(target, method="POST", marked=False, body=GOOD)
    assert (response.status, response.body) == (400, UNMARKED)


def test_post_of_2017_03_01_needs_no_header() -> None:
    target = "/metadata/scheduledevents?api-version=2017-03-01"
    answer = a_harness().send(target, method="POST", marked=False, body=GOOD)
    assert answer == ApproveFirst(group="web", vm="web-0", events=("E0",))


EXEMPT = "api-version=2017-03-01"
NOT_EXEMPT = (
    "/metadata/scheduledevents",
    "/metadata/scheduledevents?api-version=2017-03-1",
    "/metadata/scheduledevents?api-version=2017-03-01x",
    f"/metadata/scheduledevents?{EXEMPT}&{EXEMPT}",
    f"/metadata/scheduledevents?{EXEMPT}&api-version=2020-07-01",
    f"/metadata/instance?{EXEMPT}",
    f"/metadata/scheduledevents/more?{EXEMPT}",
    f"/?{EXEMPT}",
)


@pytest.mark.parametrize("target", NOT_EXEMPT)
def test_no_other_post_is_exempt_from_the_header(target: str) -> None:
    response = a_harness().request(target, method="POST", marked=False, body=GOOD)
    assert (response.status, response.body) == (400, UNMARKED)


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "OPTIONS"])
@pytest.mark.parametrize("target", [EVENTS, "/metadata/instance", "/", "/nowhere"])
@pytest.mark.parametrize("value", ["10.0.0.1", ""])
def test_forwarded_request_gets_400_on_every_path(
    method: str, target: str, value: str
) -> None:
    response = a_harness().request(target, f"X-Forwarded-For: {value}", method=method)
    assert response.status == 400
    assert "proxy" in error_of(response)


@pytest.mark.parametrize(
    ("hosts", "status"),
    [(set(), 400), ({"other.example"}, 400), ({"a.example"}, 200), ({"*"}, 200)],
)
def test_host_with_a_dot_is_served_only_if_it_is_listed(
    hosts: set[str], status: int
) -> None:
    head = a_request(EVENTS, "Metadata: true", host="Host: A.example.:8254")
    answer = a_harness(hosts=hosts).handler.handle(parse_head(head), b"", "10.0.0.1")
    assert isinstance(answer, bytes)
    (response,) = read(answer, ["GET"])
    assert response.status == status


@pytest.mark.parametrize("host", ["10.0.0.5.a.example", "1.a.example", "a.1.example"])
def test_host_that_only_begins_like_an_address_gets_400(host: str) -> None:
    head = a_request(EVENTS, "Metadata: true", host=f"Host: {host}")
    answer = a_harness().handler.handle(parse_head(head), b"", "10.0.0.1")
    assert isinstance(answer, bytes)
    (response,) = read(answer, ["GET"])
    assert response.status == 400


# --- paths and methods -------------------------------------------------------

NOWHERE = (
    "/",
    "/metadata",
    "/metadata/",
    "/metadata/nothing",
    "/metadata/attested/document?api-version=2020-09-01",
    "/metadata/scheduledevents/more?api-version=2020-07-01",
    "/metadata/latest/scheduledevents",
    "/metadata/2017-03-01/scheduledevents",
    "/metadata/versions/more",
    "/scheduledevents?api-version=2020-07-01",
    "/machine?comp=goalstate",
    "/vm/web-0/metadata/scheduledevents?api-version=2020-07-01",
)


@pytest.mark.parametrize("target", NOWHERE)
def test_unknown_path_gets_404(target: str) -> None:
    response = a_harness().request(target)
    assert (response.status, response.body) == (404, NOT_FOUND)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS"])
def test_other_methods_for_events_get_405(method: str) -> None:
    response = a_harness().request(method=method)
    assert response.status == 405
    assert response.header(b"allow") == b"GET, POST"
    assert method in error_of(response)


def test_head_for_events_gets_405_without_a_body() -> None:
    response = a_harness().request(method="HEAD")
    assert (response.status, response.body) == (405, b"")
    assert response.header(b"allow") == b"GET, POST"


@pytest.mark.parametrize("path", ["instance", "instance/compute/name", "versions"])
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_other_paths_are_read_only(path: str, method: str) -> None:
    response = a_harness().request(f"/metadata/{path}", method=method)
    assert response.status == 405
    assert response.header(b"allow") == b"GET"


# --- versions and parameters -------------------------------------------------

UNKNOWN = (
    "/metadata/scheduledevents",
    "/metadata/scheduledevents?",
    "/metadata/scheduledevents?api-version=",
    "/metadata/scheduledevents?api-version=latest",
    "/metadata/scheduledevents?api-version=%7Blatest%7D",
    "/metadata/scheduledevents?api-version=2021-02-01",
    "/metadata/scheduledevents?api-version=2020-07-01x",
    "/metadata/scheduledevents?api-version=%202020-07-01",
    "/metadata/scheduledevents?version=2020-07-01",
    "/metadata/scheduledevents?format=json",
)


@pytest.mark.parametrize("target", UNKNOWN)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_version_gets_400_with_the_newest_versions(
    target: str, method: str
) -> None:
    response = a_harness().request(target, method=method, body=GOOD)
    assert (response.status, response.body) == (400, NEWEST_OF_EVENTS)


@pytest.mark.parametrize(
    "query", ["", "?format=json", "?api-version=2020-07-01", "?api-version=2019-04-01"]
)
def test_instance_has_its_own_versions(query: str) -> None:
    response = a_harness().request(f"/metadata/instance{query}")
    assert (response.status, response.body) == (400, NEWEST_OF_INSTANCE)


TWICE = (
    f"{EVENTS}&api-version=2020-07-01",
    f"{EVENTS}&api-version=2019-08-01",
    f"{EVENTS}&a=1&a=2",
    f"{EVENTS}&a&A",
    "/metadata/instance?api-version=2021-02-01&format=text&format=json",
    "/metadata/versions?a=1&a=1",
)


@pytest.mark.parametrize("target", TWICE)
def test_repeated_parameter_gets_400(target: str) -> None:
    response = a_harness().request(target)
    assert response.status == 400
    assert "more than once" in error_of(response)


# --- bodies ------------------------------------------------------------------


def test_malformed_body_gets_400() -> None:
    response = a_harness().request(method="POST", body=b"nonsense")
    assert response.status == 400
    assert error_of(response).startswith("Bad request. ")


# --- precedence --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RequestError:
    """One error in a request, and the status and text that identify it."""

    status: int
    words: str


#: In order of precedence.
PROBLEMS = {
    "forwarded": RequestError(400, "proxy"),
    "page": RequestError(400, "web page"),
    "unmarked": RequestError(400, "Required metadata header"),
    "path": RequestError(404, "Not found"),
    "method": RequestError(405, "Method not allowed"),
    "version": RequestError(400, "api-version is invalid"),
    "caller": RequestError(404, "10.9.9.9"),
    "body": RequestError(400, "JSON"),
}


@pytest.mark.parametrize(
    "wrong",
    [two for size in (1, 2, 3) for two in combinations(PROBLEMS, size)],
    ids=" and ".join,
)
def test_first_of_several_errors_is_reported(wrong: tuple[str, ...]) -> None:
    path = "nothing" if "path" in wrong else "scheduledevents"
    version = "1999-01-01" if "version" in wrong else "2020-07-01"
    response = a_harness().request(
        f"/metadata/{path}?api-version={version}",
        *(["X-Forwarded-For: 1.2.3.4"] if "forwarded" in wrong else []),
        *(["Origin: http://a.example"] if "page" in wrong else []),
        method="PUT" if "method" in wrong else "POST",
        marked="unmarked" not in wrong,
        body=b"nonsense" if "body" in wrong else GOOD,
        address="10.9.9.9" if "caller" in wrong else "10.0.0.1",
    )
    expected = PROBLEMS[wrong[0]]
    assert response.status == expected.status
    assert expected.words in error_of(response)
