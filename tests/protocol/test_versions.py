"""The seven api-versions, each exactly as it is on the wire."""

from datetime import UTC, datetime

import pytest

from forewarn.protocol.codec import encode
from forewarn.protocol.types import (
    Document,
    EventSource,
    EventStatus,
    EventType,
    ScheduledEvent,
)
from forewarn.protocol.versions import INSTANCE_VERSIONS, NEWEST, VERSIONS, DateForm

ALL = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
)

#: How each version encodes one and the same Reboot.
REBOOT = {
    "2017-03-01": '"Resources":["_vm0"],"NotBefore":"2016-09-19T18:29:47Z"}',
    "2017-08-01": '"Resources":["vm0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"}',
    "2017-11-01": '"Resources":["vm0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"}',
    "2019-01-01": '"Resources":["vm0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"}',
    "2019-04-01": '"Resources":["vm0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"'
    ',"Description":"Host server is undergoing maintenance."}',
    "2019-08-01": '"Resources":["vm0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"'
    ',"Description":"Host server is undergoing maintenance.","EventSource":"Platform"}',
    "2020-07-01": '"Resources":["vm0"],"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"'
    ',"Description":"Host server is undergoing maintenance.","EventSource":"Platform"'
    ',"DurationInSeconds":9}',
}

FIRST = {"Freeze", "Reboot", "Redeploy"}

TYPES = {
    "2017-03-01": FIRST,
    "2017-08-01": FIRST,
    "2017-11-01": FIRST | {"Preempt"},
    "2019-01-01": FIRST | {"Preempt", "Terminate"},
    "2019-04-01": FIRST | {"Preempt", "Terminate"},
    "2019-08-01": FIRST | {"Preempt", "Terminate"},
    "2020-07-01": FIRST | {"Preempt", "Terminate"},
}


def an_event(
    type_: EventType = EventType.REBOOT,
    *,
    resources: tuple[str, ...] = ("vm0",),
    paas: frozenset[str] = frozenset(),
) -> ScheduledEvent:
    return ScheduledEvent(
        id="E0",
        type=type_,
        status=EventStatus.SCHEDULED,
        resources=resources,
        not_before=datetime(2016, 9, 19, 18, 29, 47, tzinfo=UTC),
        description="Host server is undergoing maintenance.",
        source=EventSource.PLATFORM,
        duration=9,
        paas=paas,
    )


def written(version: str, *events: ScheduledEvent) -> str:
    return encode(Document(incarnation=3, events=events), VERSIONS[version]).decode()


def test_there_are_exactly_seven_versions_oldest_first() -> None:
    assert tuple(VERSIONS) == ALL
    assert tuple(version.name for version in VERSIONS.values()) == ALL
    assert NEWEST.name == "2020-07-01"


@pytest.mark.parametrize("version", ALL)
def test_an_event_is_written_with_the_fields_of_the_version(version: str) -> None:
    assert written(version, an_event()) == (
        '{"DocumentIncarnation":3,"Events":[{"EventId":"E0","EventStatus":"Scheduled"'
        ',"EventType":"Reboot","ResourceType":"VirtualMachine",'
        f"{REBOOT[version]}]}}"
    )


@pytest.mark.parametrize("type_", EventType)
@pytest.mark.parametrize("version", ALL)
def test_a_version_shows_only_the_types_it_knows(
    version: str, type_: EventType
) -> None:
    shown = f'"EventType":"{type_.value}"' in written(version, an_event(type_))
    assert shown is (type_.value in TYPES[version])


@pytest.mark.parametrize("version", ["2017-03-01", "2017-08-01"])
def test_a_hidden_event_does_not_affect_others_or_the_incarnation(
    version: str,
) -> None:
    shown = an_event(EventType.FREEZE)
    both = written(version, an_event(EventType.PREEMPT), shown)
    assert both == written(version, shown)


def test_only_iaas_names_have_the_underscore_of_2017_03_01() -> None:
    event = an_event(
        resources=("vm0", "FrontEnd_IN_0", "vm1"), paas=frozenset({"FrontEnd_IN_0"})
    )
    assert '"Resources":["_vm0","FrontEnd_IN_0","_vm1"]' in written("2017-03-01", event)


@pytest.mark.parametrize("version", ALL[1:])
def test_no_later_version_has_underscores(version: str) -> None:
    event = an_event(resources=("vm0", "FrontEnd_IN_0"), paas=frozenset({"vm0"}))
    assert '"Resources":["vm0","FrontEnd_IN_0"]' in written(version, event)


@pytest.mark.parametrize("version", ALL)
def test_the_date_format_can_be_overridden(version: str) -> None:
    document = Document(incarnation=1, events=(an_event(),))
    rfc = encode(document, VERSIONS[version], DateForm.RFC1123)
    iso = encode(document, VERSIONS[version], DateForm.ISO8601)
    assert b'"NotBefore":"Mon, 19 Sep 2016 18:29:47 GMT"' in rfc
    assert b'"NotBefore":"2016-09-19T18:29:47Z"' in iso


def test_only_2017_03_01_accepts_a_post_without_the_metadata_header() -> None:
    lenient = [
        version.name for version in VERSIONS.values() if not version.header_on_post
    ]
    assert lenient == ["2017-03-01"]


def test_instance_metadata_has_its_own_versions() -> None:
    missing = [version for version in ALL if version not in INSTANCE_VERSIONS]
    assert missing == ["2017-11-01", "2019-01-01", "2019-04-01", "2020-07-01"]
    assert len(INSTANCE_VERSIONS) == 35
    assert list(INSTANCE_VERSIONS) == sorted(set(INSTANCE_VERSIONS))
    assert INSTANCE_VERSIONS[-3:] == ("2024-03-15", "2024-07-17", "2025-04-07")
