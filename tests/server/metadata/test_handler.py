"""Scheduled Events documents: content per API version, ETag and 304."""

import json

import pytest
from tests.server.support.handlers import EVENTS, VMS, WEB, a_harness, an_event, shown

from forewarn.core.fleet import VM
from forewarn.protocol.versions import DateForm
from forewarn.server.metadata.handler import ApproveFirst

VERSIONS = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
)


def at(version: str) -> str:
    return f"/metadata/scheduledevents?api-version={version}"


# --- bodies ------------------------------------------------------------------


FIRST = (
    b'{"DocumentIncarnation":1,"Events":[{"EventId":"E0","EventStatus":"Scheduled",'
    b'"EventType":"Reboot","ResourceType":"VirtualMachine","Resources":["web-0"],'
    b'"NotBefore":"Thu, 01 Jan 2026 12:15:00 GMT"'
)
DESCRIPTION = b',"Description":"Host server is undergoing maintenance."'
BODIES = {
    "2017-03-01": FIRST.replace(b"web-0", b"_web-0").replace(
        b"Thu, 01 Jan 2026 12:15:00 GMT", b"2026-01-01T12:15:00Z"
    ),
    "2017-08-01": FIRST,
    "2017-11-01": FIRST,
    "2019-01-01": FIRST,
    "2019-04-01": FIRST + DESCRIPTION,
    "2019-08-01": FIRST + DESCRIPTION + b',"EventSource":"Platform"',
    "2020-07-01": FIRST
    + DESCRIPTION
    + b',"EventSource":"Platform","DurationInSeconds":9',
}


@pytest.mark.parametrize("version", VERSIONS)
def test_event_has_the_format_of_its_version(version: str) -> None:
    response = a_harness(shown(WEB, an_event())).request(at(version))
    assert response.body == BODIES[version] + b"}]}"


def test_date_format_of_the_oldest_version_can_be_changed() -> None:
    harness = a_harness(shown(WEB, an_event()), date_form=DateForm.RFC1123)
    body = harness.request(at("2017-03-01")).body
    assert b'"NotBefore":"Thu, 01 Jan 2026 12:15:00 GMT"' in body


@pytest.mark.parametrize("version", VERSIONS[1:])
def test_date_format_of_other_versions_is_fixed(version: str) -> None:
    harness = a_harness(shown(WEB, an_event()), date_form=DateForm.ISO8601)
    body = harness.request(at(version)).body
    assert b'"NotBefore":"Thu, 01 Jan 2026 12:15:00 GMT"' in body


def test_all_vms_of_a_group_read_the_same_document() -> None:
    harness = a_harness(shown(WEB, an_event()))
    bodies = {
        harness.request(address=address).body for address in ("10.0.0.1", "10.0.0.2")
    }
    assert len(bodies) == 1


def test_new_document_is_shown_to_all_vms() -> None:
    harness = a_harness()
    harness.request()
    harness.show(shown(WEB, an_event()))
    assert json.loads(harness.request(address="10.0.0.2").body)["Events"]


def test_every_version_changes_with_the_document() -> None:
    harness = a_harness(shown(WEB, an_event()))
    for version in VERSIONS:
        harness.request(at(version))
    harness.show(shown(WEB, incarnation=2))
    bodies = {harness.request(at(version)).body for version in VERSIONS}
    assert bodies == {b'{"DocumentIncarnation":2,"Events":[]}'}


# --- headers -----------------------------------------------------------------


def test_document_is_json_in_utf_8() -> None:
    response = a_harness().request()
    assert response.header(b"content-type") == b"application/json; charset=utf-8"
    assert response.header(b"content-length") == b"37"


def test_responses_carry_the_service_time() -> None:
    response = a_harness().request()
    assert response.header(b"date") == b"Thu, 01 Jan 2026 12:00:00 GMT"
    assert response.header(b"forewarn-clock") is None


@pytest.mark.parametrize(
    ("clock", "told"), [("x60", b"60"), ("x0.5", b"0.5"), ("manual", b"manual")]
)
def test_response_names_a_clock_other_than_the_system_clock(
    clock: str, told: bytes
) -> None:
    assert a_harness(clock=clock).request().header(b"forewarn-clock") == told


@pytest.mark.parametrize("tag", [b'"e0.0"', b'"nothing"'])
def test_error_response_also_names_the_clock(tag: bytes) -> None:
    response = a_harness(clock="manual").request("/", f"If-None-Match: {tag.decode()}")
    assert response.header(b"forewarn-clock") == b"manual"


# --- ETags -------------------------------------------------------------------


def test_document_has_a_quoted_etag() -> None:
    tag = a_harness(shown(epoch="9f3c", incarnation=7)).request().header(b"etag")
    assert tag == b'"9f3c.7"'


def test_etag_changes_with_the_document() -> None:
    harness = a_harness()
    before = harness.request().header(b"etag")
    harness.show(shown(WEB, an_event()))
    assert harness.request().header(b"etag") != before


def test_etag_changes_when_the_incarnation_restarts() -> None:
    harness = a_harness(shown(epoch="old"))
    before = harness.request().header(b"etag")
    harness.show(shown(epoch="new"))
    assert harness.request().header(b"etag") != before


MATCHING = ('"e0.0"', "e0.0", 'W/"e0.0"', '"x", "e0.0"', 'x,W/"e0.0" , "y"', "*")


@pytest.mark.parametrize("tags", MATCHING)
def test_unchanged_document_gets_304(tags: str) -> None:
    response = a_harness().request(EVENTS, f"If-None-Match: {tags}")
    assert response.status == 304
    assert response.body == b""
    assert response.header(b"etag") == b'"e0.0"'


OTHER = ("0", "null", '"0"', '"e0.1"', "e0", ".0", '""', "", ",", '"*"', "W/")


@pytest.mark.parametrize("tags", OTHER)
def test_other_etags_do_not_match(tags: str) -> None:
    assert a_harness().request(EVENTS, f"If-None-Match: {tags}").status == 200


@pytest.mark.parametrize("tag", ["*", "other"])
def test_response_has_a_connection_header(tag: str) -> None:
    headers = (f"If-None-Match: {tag}", "Connection: close")
    assert a_harness().request(EVENTS, *headers).header(b"connection") == b"close"


# --- paths and parameters ----------------------------------------------------

SAME = (
    "/metadata/scheduledEvents",
    "/Metadata/ScheduledEvents",
    "/METADATA/SCHEDULEDEVENTS",
    "/metadata/scheduledevents/",
    "/metadata%2fscheduledevents",
)


@pytest.mark.parametrize("path", SAME)
def test_path_is_case_insensitive_and_may_end_with_a_slash(path: str) -> None:
    assert a_harness().request(f"{path}?api-version=2020-07-01").status == 200


def test_escaped_question_mark_is_understood() -> None:
    target = "/metadata/scheduledEvents%3Fapi-version=2017-08-01"
    assert a_harness().request(target).status == 200


@pytest.mark.parametrize("more", ["extended=true", "format=json", "format=text", "x"])
def test_other_parameters_are_ignored(more: str) -> None:
    harness = a_harness()
    plain = harness.request()
    assert harness.request(f"{EVENTS}&{more}") == plain
    target = f"/metadata/scheduledevents?{more}&api-version=2020-07-01"
    assert harness.request(target) == plain


def test_content_type_of_a_get_is_ignored() -> None:
    assert a_harness().request(EVENTS, "Content-Type: application/json").status == 200


def test_vm_without_an_address_has_a_document() -> None:
    vms = (*VMS, VM(name="web-9", group="web"))
    harness = a_harness(vms=vms, is_open=True)
    assert harness.request(f"/vm/web-9{EVENTS}").status == 200


def test_at_most_a_hundred_events_are_approved_at_once() -> None:
    def approval(count: int) -> bytes:
        ids = [{"EventId": f"E{number}"} for number in range(count)]
        return json.dumps({"StartRequests": ids}).encode()

    harness = a_harness(shown(incarnation=0))
    allowed = harness.send(method="POST", body=approval(100))
    assert isinstance(allowed, ApproveFirst)
    assert len(allowed.events) == 100
    refused = harness.request(method="POST", body=approval(101))
    assert refused.status == 400
    assert b"at most 100 events" in refused.body
