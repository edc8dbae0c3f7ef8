"""Version `latest` of the preview and versions in the path, enabled by a setting."""

import pytest
from tests.server.metadata.test_errors import (
    GOOD,
    NEWEST_OF_EVENTS,
    NEWEST_OF_INSTANCE,
    NOT_FOUND,
    UNMARKED,
    error_of,
)
from tests.server.metadata.test_handler import VERSIONS
from tests.server.support.handlers import (
    EVENTS,
    WEB,
    HandlerHarness,
    a_harness,
    an_event,
    shown,
)

from forewarn.protocol.types import EventType
from forewarn.protocol.versions import DateForm
from forewarn.server.metadata.handler import ApproveFirst

OLDEST = "/metadata/scheduledevents?api-version=2017-03-01"
QUERY = "/metadata/scheduledevents?api-version=latest"
PATH = "/metadata/latest/scheduledevents"
WAYS = (QUERY, PATH)


def a_lenient_harness(*, date_form: DateForm | None = None) -> HandlerHarness:
    """Return a harness that accepts `latest` and shows a Reboot and a Terminate."""
    events = (an_event("E0"), an_event("E1", type_=EventType.TERMINATE))
    return a_harness(shown(WEB, *events), date_form=date_form, takes_latest=True)


def in_path(version: str) -> str:
    return f"/metadata/{version}/scheduledevents"


# --- enabled -----------------------------------------------------------------


@pytest.mark.parametrize("target", WAYS)
def test_latest_is_read_as_2017_03_01(target: str) -> None:
    response = a_lenient_harness().request(target)
    assert response == a_lenient_harness().request(OLDEST)
    assert b'"Resources":["_web-0"]' in response.body
    assert b'"NotBefore":"2026-01-01T12:15:00Z"' in response.body
    assert b"Terminate" not in response.body


@pytest.mark.parametrize("target", WAYS)
def test_latest_has_the_date_format_of_2017_03_01(target: str) -> None:
    response = a_lenient_harness(date_form=DateForm.RFC1123).request(target)
    assert b'"NotBefore":"Thu, 01 Jan 2026 12:15:00 GMT"' in response.body


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_may_be_in_the_path(version: str) -> None:
    harness = a_lenient_harness()
    queried = harness.request(f"/metadata/scheduledevents?api-version={version}")
    assert harness.request(in_path(version)) == queried


@pytest.mark.parametrize(
    "target",
    [
        "/Metadata/LATEST/scheduledEvents",
        "/METADATA/Latest/SCHEDULEDEVENTS/",
        f"{PATH}?format=json",
        f"{QUERY}&extended=true",
        "/metadata/scheduledevents?API-Version=latest",
        "/metadata/scheduledevents%3Fapi-version=latest",
    ],
)
def test_latest_is_accepted_in_any_spelling(target: str) -> None:
    assert a_lenient_harness().request(target).status == 200


def test_path_on_an_open_plane_may_name_vm_and_version() -> None:
    harness = a_harness(is_open=True, takes_latest=True)
    assert harness.request(f"/vm/web-1{PATH}").status == 200


@pytest.mark.parametrize("target", [*WAYS, in_path("2017-03-01")])
@pytest.mark.parametrize("marked", [True, False])
def test_posts_of_latest_need_no_header(target: str, marked: bool) -> None:
    answer = a_lenient_harness().send(target, method="POST", marked=marked, body=GOOD)
    assert answer == ApproveFirst(
        group="web", vm="web-0", events=("E0",), are_shown=True
    )


@pytest.mark.parametrize("target", WAYS)
def test_requests_of_latest_are_recorded(target: str) -> None:
    harness = a_lenient_harness()
    harness.request(target)
    assert harness.polled_groups().keys() == {"web"}


# --- refusals ----------------------------------------------------------------


@pytest.mark.parametrize("target", [*WAYS, in_path("2017-03-01")])
def test_gets_of_latest_need_the_header(target: str) -> None:
    response = a_lenient_harness().request(target, marked=False)
    assert (response.status, response.body) == (400, UNMARKED)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_posts_of_later_versions_in_the_path_need_the_header(version: str) -> None:
    response = a_lenient_harness().request(
        in_path(version), method="POST", marked=False, body=GOOD
    )
    assert (response.status, response.body) == (400, UNMARKED)


@pytest.mark.parametrize(
    "version", ["", "2000-01-01", "newest", "LATEST", "%7Blatest%7D", "latest%20"]
)
def test_other_versions_get_400_without_mention_of_latest(version: str) -> None:
    target = f"/metadata/scheduledevents?api-version={version}"
    response = a_lenient_harness().request(target)
    assert (response.status, response.body) == (400, NEWEST_OF_EVENTS)


@pytest.mark.parametrize(
    "target",
    [
        in_path("2000-01-01"),
        in_path("2021-02-01"),
        in_path("scheduledevents"),
        f"{PATH}/more",
        "/metadata/latest",
        "/metadata/latest/instance",
        "/metadata/latest/latest/scheduledevents",
        "/latest/scheduledevents",
    ],
)
def test_other_paths_get_404(target: str) -> None:
    response = a_lenient_harness().request(target)
    assert (response.status, response.body) == (404, NOT_FOUND)


@pytest.mark.parametrize("version", ["latest", "2017-03-01", "2020-07-01"])
def test_version_in_both_path_and_query_gets_400(version: str) -> None:
    response = a_lenient_harness().request(f"{PATH}?api-version={version}")
    assert response.status == 400
    assert "more than once" in error_of(response)


def test_instance_does_not_accept_latest() -> None:
    response = a_lenient_harness().request("/metadata/instance?api-version=latest")
    assert (response.status, response.body) == (400, NEWEST_OF_INSTANCE)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD"])
def test_other_methods_get_405(method: str) -> None:
    response = a_lenient_harness().request(PATH, method=method)
    assert (response.status, response.header(b"allow")) == (405, b"GET, POST")


# --- disabled ----------------------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_latest_is_unknown_without_the_setting(method: str) -> None:
    response = a_harness().request(QUERY, method=method, body=GOOD)
    assert (response.status, response.body) == (400, NEWEST_OF_EVENTS)


def test_posts_of_latest_need_the_header_without_the_setting() -> None:
    response = a_harness().request(QUERY, method="POST", marked=False, body=GOOD)
    assert (response.status, response.body) == (400, UNMARKED)


@pytest.mark.parametrize("version", ["latest", *VERSIONS])
@pytest.mark.parametrize("query", ["", "?api-version=2020-07-01"])
def test_version_in_the_path_gets_404_without_the_setting(
    version: str, query: str
) -> None:
    response = a_harness().request(in_path(version) + query)
    assert (response.status, response.body) == (404, NOT_FOUND)


def test_setting_does_not_affect_other_requests() -> None:
    assert a_lenient_harness().request(EVENTS).status == 200
