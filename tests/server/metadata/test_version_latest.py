"""The preview's version `latest`, and versions in the path: only where they are set."""

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
    Reception,
    a_reception,
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


def a_lenient_reception(*, date_form: DateForm | None = None) -> Reception:
    """A reception that takes `latest`, and shows a Reboot and a Terminate."""
    events = (an_event("E0"), an_event("E1", type_=EventType.TERMINATE))
    return a_reception(shown(WEB, *events), date_form=date_form, takes_latest=True)


def in_path(version: str) -> str:
    return f"/metadata/{version}/scheduledevents"


# --- where it is taken -------------------------------------------------------


@pytest.mark.parametrize("target", WAYS)
def test_latest_is_read_as_2017_03_01(target: str) -> None:
    said = a_lenient_reception().ask(target)
    assert said == a_lenient_reception().ask(OLDEST)
    assert b'"Resources":["_web-0"]' in said.body
    assert b'"NotBefore":"2026-01-01T12:15:00Z"' in said.body
    assert b"Terminate" not in said.body


@pytest.mark.parametrize("target", WAYS)
def test_latest_has_the_dates_that_are_set_for_2017_03_01(target: str) -> None:
    said = a_lenient_reception(date_form=DateForm.RFC1123).ask(target)
    assert b'"NotBefore":"Thu, 01 Jan 2026 12:15:00 GMT"' in said.body


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_may_stand_in_the_path(version: str) -> None:
    reception = a_lenient_reception()
    queried = reception.ask(f"/metadata/scheduledevents?api-version={version}")
    assert reception.ask(in_path(version)) == queried


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
def test_it_is_written_in_as_many_ways_as_others(target: str) -> None:
    assert a_lenient_reception().ask(target).status == 200


def test_on_an_open_plane_the_path_may_name_a_vm_and_a_version() -> None:
    reception = a_reception(is_open=True, takes_latest=True)
    assert reception.ask(f"/vm/web-1{PATH}").status == 200


@pytest.mark.parametrize("target", [*WAYS, in_path("2017-03-01")])
@pytest.mark.parametrize("marked", [True, False])
def test_its_posts_need_no_header(target: str, marked: bool) -> None:
    answer = a_lenient_reception().send(target, method="POST", marked=marked, body=GOOD)
    assert answer == ApproveFirst(vm="web-0", events=("E0",))


@pytest.mark.parametrize("target", WAYS)
def test_its_requests_count(target: str) -> None:
    reception = a_lenient_reception()
    reception.ask(target)
    assert reception.asked().keys() == {"web"}


# --- what is refused all the same --------------------------------------------


@pytest.mark.parametrize("target", [*WAYS, in_path("2017-03-01")])
def test_its_gets_need_the_header(target: str) -> None:
    said = a_lenient_reception().ask(target, marked=False)
    assert (said.status, said.body) == (400, UNMARKED)


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_posts_of_later_versions_need_the_header_in_the_path_too(version: str) -> None:
    said = a_lenient_reception().ask(
        in_path(version), method="POST", marked=False, body=GOOD
    )
    assert (said.status, said.body) == (400, UNMARKED)


@pytest.mark.parametrize(
    "version", ["", "2000-01-01", "newest", "LATEST", "%7Blatest%7D", "latest%20"]
)
def test_no_other_version_is_taken_and_latest_is_not_told(version: str) -> None:
    target = f"/metadata/scheduledevents?api-version={version}"
    said = a_lenient_reception().ask(target)
    assert (said.status, said.body) == (400, NEWEST_OF_EVENTS)


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
def test_no_other_path_is_found(target: str) -> None:
    said = a_lenient_reception().ask(target)
    assert (said.status, said.body) == (404, NOT_FOUND)


@pytest.mark.parametrize("version", ["latest", "2017-03-01", "2020-07-01"])
def test_a_version_in_the_path_and_in_the_query_is_one_too_many(version: str) -> None:
    said = a_lenient_reception().ask(f"{PATH}?api-version={version}")
    assert said.status == 400
    assert "more than once" in error_of(said)


def test_the_instance_has_no_latest() -> None:
    said = a_lenient_reception().ask("/metadata/instance?api-version=latest")
    assert (said.status, said.body) == (400, NEWEST_OF_INSTANCE)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD"])
def test_no_other_method_is_allowed_there(method: str) -> None:
    said = a_lenient_reception().ask(PATH, method=method)
    assert (said.status, said.header(b"allow")) == (405, b"GET, POST")


# --- where it is not set -----------------------------------------------------


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_without_the_setting_latest_is_unknown(method: str) -> None:
    said = a_reception().ask(QUERY, method=method, body=GOOD)
    assert (said.status, said.body) == (400, NEWEST_OF_EVENTS)


def test_without_the_setting_posts_of_latest_need_the_header() -> None:
    said = a_reception().ask(QUERY, method="POST", marked=False, body=GOOD)
    assert (said.status, said.body) == (400, UNMARKED)


@pytest.mark.parametrize("version", ["latest", *VERSIONS])
@pytest.mark.parametrize("query", ["", "?api-version=2020-07-01"])
def test_without_the_setting_no_version_stands_in_the_path(
    version: str, query: str
) -> None:
    said = a_reception().ask(in_path(version) + query)
    assert (said.status, said.body) == (404, NOT_FOUND)


def test_the_setting_changes_nothing_for_others() -> None:
    assert a_lenient_reception().ask(EVENTS).status == 200
