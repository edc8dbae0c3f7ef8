"""Golden files: recorded responses of a real endpoint, encoded and decoded."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode, encode
from forewarn.protocol.types import (
    Document,
    EventSource,
    EventStatus,
    EventType,
    ScheduledEvent,
)
from forewarn.protocol.versions import VERSIONS, ApiVersion, DateForm

GOLDEN = Path(__file__).parent.parent / "golden"

#: The order in which a real endpoint writes the fields of an event.
OBSERVED_ORDER = (
    "EventId",
    "EventStatus",
    "EventType",
    "ResourceType",
    "Resources",
    "NotBefore",
    "Description",
    "EventSource",
    "DurationInSeconds",
)

LIVE_MIGRATION = (
    "Virtual machine is being paused because of a memory-preserving Live Migration"
    " operation."
)


def recorded(name: str, *path: str | int) -> object:
    """Return the part at `path` of the recording `name`."""
    value: object = json.loads((GOLDEN / f"{name}.json").read_text())
    for step in path:
        if isinstance(step, int):
            assert isinstance(value, Sequence)
            value = value[step]
        else:
            assert isinstance(value, Mapping)
            value = value[step]
    return value


def recorded_bytes(name: str, *path: str | int) -> bytes:
    """Return text as it was recorded, encoded."""
    text = recorded(name, *path)
    assert isinstance(text, str)
    return text.encode()


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def compact_event(event: object) -> bytes:
    """Encode a recorded event compactly, in the field order of a real endpoint."""
    assert isinstance(event, Mapping)
    assert set(event) <= set(OBSERVED_ORDER)
    return compact({name: event[name] for name in OBSERVED_ORDER if name in event})


def compact_document(body: object) -> bytes:
    """Encode a recorded document compactly, in the field order of a real endpoint."""
    assert isinstance(body, Mapping)
    events = b",".join(compact_event(event) for event in body["Events"])
    incarnation = compact(body["DocumentIncarnation"])
    return b'{"DocumentIncarnation":%b,"Events":[%b]}' % (incarnation, events)


def a_document(incarnation: int, *events: ScheduledEvent) -> Document:
    return Document(incarnation=incarnation, events=events)


# --- byte-exact recordings ---------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS.values(), ids=VERSIONS)
def test_the_empty_document_matches_the_recording_in_every_version(
    version: ApiVersion,
) -> None:
    raw = recorded_bytes("empty_document", "raw")
    empty = Document(incarnation=0)
    assert encode(empty, version) == raw
    assert decode(raw) == empty


def test_the_recorded_empty_body_means_no_events() -> None:
    assert decode(recorded_bytes("empty_body_200", "raw")) == Document(incarnation=0)


@pytest.mark.parametrize(
    ("name", "event_id", "resource", "not_before"),
    [
        (
            "2019-08-01_preempt_scheduled",
            "51941B56-8080-45AC-81AE-8BDA818F5958",
            "aks-workloads1-15413341-vmss_3",
            datetime(2024, 3, 16, 19, 52, 9, tzinfo=UTC),
        ),
        (
            "2019-08-01_preempt_docs_example",
            "A123BC45-1234-5678-AB90-ABCDEF123456",
            "myspotvm",
            datetime(2021, 3, 16, 0, 58, 46, tzinfo=UTC),
        ),
    ],
)
def test_a_preempt_of_2019_08_01_matches_the_recording(
    name: str, event_id: str, resource: str, not_before: datetime
) -> None:
    preempt = a_document(
        1,
        ScheduledEvent(
            id=event_id,
            type=EventType.PREEMPT,
            status=EventStatus.SCHEDULED,
            resources=(resource,),
            not_before=not_before,
            source=EventSource.PLATFORM,
        ),
    )
    raw = recorded_bytes(name, "raw")
    assert encode(preempt, VERSIONS["2019-08-01"]) == raw
    assert decode(raw) == preempt


def test_a_terminate_of_2019_08_01_matches_the_recorded_beginning() -> None:
    terminate = a_document(
        1,
        ScheduledEvent(
            id="C37355DB-2C23-4195-90CA-1A712A85650C",
            type=EventType.TERMINATE,
            status=EventStatus.SCHEDULED,
            resources=("aks-tom",),
        ),
    )
    beginning = recorded_bytes("2019-08-01_terminate_scheduled_fragment", "raw_prefix")
    assert encode(terminate, VERSIONS["2019-08-01"]).startswith(beginning)


def test_a_truncated_document_is_malformed() -> None:
    beginning = recorded_bytes("2019-08-01_terminate_scheduled_fragment", "raw_prefix")
    with pytest.raises(Malformed):
        decode(beginning)


# --- recordings rebuilt from printed fields ----------------------------------


def test_a_redeploy_of_2017_03_01_has_an_underscore_and_the_recorded_date() -> None:
    redeploy = ScheduledEvent(
        id="762D06A2-8289-469B-AB27-4D26C9C745B3",
        type=EventType.REDEPLOY,
        status=EventStatus.SCHEDULED,
        resources=("mysrv",),
        not_before=datetime(2017, 4, 17, 18, 40, 6, tzinfo=UTC),
    )
    name = "2017-03-01_redeploy_scheduled_underscore"
    event = compact_event(recorded(name, "rebuilt", "Events", 0))
    written = encode(a_document(7, redeploy), VERSIONS["2017-03-01"], DateForm.RFC1123)
    assert written == b'{"DocumentIncarnation":7,"Events":[%b]}' % event


def test_a_recording_without_an_incarnation_is_decoded() -> None:
    name = "2017-03-01_redeploy_scheduled_underscore"
    document = decode(compact(recorded(name, "rebuilt")))
    assert document == a_document(
        0,
        ScheduledEvent(
            id="762D06A2-8289-469B-AB27-4D26C9C745B3",
            type=EventType.REDEPLOY,
            status=EventStatus.SCHEDULED,
            resources=("_mysrv",),
            not_before=datetime(2017, 4, 17, 18, 40, 6, tzinfo=UTC),
        ),
    )


def test_two_reboots_of_2017_08_01_keep_their_order() -> None:
    first = ScheduledEvent(
        id="28512AF7-C957-4500-9BC4-842D6FB531E4",
        type=EventType.REBOOT,
        status=EventStatus.SCHEDULED,
        resources=("sample_4",),
        not_before=datetime(2018, 1, 24, 21, 20, 44, tzinfo=UTC),
    )
    second = ScheduledEvent(
        id="A626E37F-793E-44E1-89B5-99AE0B96044C",
        type=EventType.REBOOT,
        status=EventStatus.SCHEDULED,
        resources=("sample_4",),
        not_before=None,  # not in the recording
    )
    both = a_document(192, first, second)
    fragments = recorded("2017-08-01_two_reboots_sample", "fragments")
    event = compact_event(
        recorded("2017-08-01_two_reboots_sample", "fragments", "Events", 0)
    )
    written = encode(both, VERSIONS["2017-08-01"])
    assert written.startswith(b'{"DocumentIncarnation":192,"Events":[%b,{' % event)
    assert decode(compact(fragments)) == both


@pytest.mark.parametrize("version", ["2017-08-01", "2017-11-01", "2019-01-01"])
def test_a_reboot_without_description_is_the_same_in_three_versions(
    version: str,
) -> None:
    reboot = a_document(
        1,
        ScheduledEvent(
            id="F3E6E2D2-E86A-47F0-AA8E-18918049A2B1",
            type=EventType.REBOOT,
            status=EventStatus.SCHEDULED,
            resources=("controlplane_0",),
            not_before=datetime(2019, 6, 30, 16, 22, 3, tzinfo=UTC),
        ),
    )
    raw = compact_document(recorded("2017_or_2019_reboot_vmss", "body"))
    assert encode(reboot, VERSIONS[version]) == raw
    assert decode(raw) == reboot


@pytest.mark.parametrize(
    ("place", "incarnation", "event_id", "resource", "duration"),
    [
        (
            0,
            16,
            "465D3B0F-D7F2-4239-AC11-1B9800E73DBC",
            "spot-node-34525998-vmss_6",
            30,
        ),
        (
            1,
            32,
            "3474C1DD-0917-49F4-85F7-84B9E366719B",
            "regular-node-30975042-vmss_6",
            6,
        ),
    ],
)
def test_a_started_freeze_has_a_blank_not_before(
    place: int, incarnation: int, event_id: str, resource: str, duration: int
) -> None:
    freeze = a_document(
        incarnation, a_started_freeze(event_id, resource, duration=duration)
    )
    body = recorded("2020-07-01_freeze_started_aks", "documents", place, "body")
    assert encode(freeze, VERSIONS["2020-07-01"]) == compact_document(body)
    assert decode(compact(body)) == freeze  # in the order of the log


def test_a_freeze_recorded_alone_matches() -> None:
    freeze = a_document(
        33,
        a_started_freeze(
            "B2BC520E-BDA2-44A0-BF75-0C320524BB47",
            "aks-testspot-38041100-vmss_25",
            duration=30,
        ),
    )
    event = recorded("2020-07-01_freeze_started_aks", "documents", 2, "event")
    raw = compact_document({"DocumentIncarnation": 33, "Events": [event]})
    assert encode(freeze, VERSIONS["2020-07-01"]) == raw
    assert decode(raw) == freeze


def a_started_freeze(event_id: str, resource: str, *, duration: int) -> ScheduledEvent:
    return ScheduledEvent(
        id=event_id,
        type=EventType.FREEZE,
        status=EventStatus.STARTED,
        resources=(resource,),
        not_before=None,
        description="Host server is undergoing maintenance.",
        source=EventSource.PLATFORM,
        duration=duration,
    )


@pytest.mark.parametrize(
    ("place", "status", "not_before"),
    [
        (1, EventStatus.SCHEDULED, datetime(2022, 4, 11, 22, 26, 58, tzinfo=UTC)),
        (2, EventStatus.STARTED, None),
    ],
)
def test_a_live_migration_matches_the_recording(
    place: int, status: EventStatus, not_before: datetime | None
) -> None:
    migration = a_document(
        place + 1,
        ScheduledEvent(
            id="C7061BAC-AFDC-4513-B24B-AA5F13A16123",
            type=EventType.FREEZE,
            status=status,
            resources=("WestNO_0", "WestNO_1"),
            not_before=not_before,
            description=LIVE_MIGRATION,
            source=EventSource.PLATFORM,
            duration=5,
        ),
    )
    name = "2020-07-01_live_migration_docs_lifecycle"
    raw = compact_document(recorded(name, "documents", place))
    assert encode(migration, VERSIONS["2020-07-01"]) == raw
    assert decode(raw) == migration


@pytest.mark.parametrize(
    ("name", "path", "incarnation"),
    [
        ("2020-07-01_live_migration_docs_lifecycle", ("documents", 0), 1),
        ("2020-07-01_live_migration_docs_lifecycle", ("documents", 3), 4),
        ("2020-07-01_user_reboot_lifecycle", ("timeline", 1, "body"), 1),
        ("2020-07-01_user_reboot_lifecycle", ("timeline", 4, "body"), 4),
    ],
)
def test_the_document_is_empty_before_and_after_an_event(
    name: str, path: tuple[str | int, ...], incarnation: int
) -> None:
    empty = Document(incarnation=incarnation)
    raw = compact_document(recorded(name, *path))
    assert encode(empty, VERSIONS["2020-07-01"]) == raw
    assert decode(raw) == empty


@pytest.mark.parametrize(
    ("name", "path", "event"),
    [
        (
            "2020-07-01_user_reboot_lifecycle",
            ("timeline", 2, "body", "Events", 0),
            ScheduledEvent(
                id="4CAEA225-A741-474D-A72E-428C86FCD853",
                type=EventType.REBOOT,
                status=EventStatus.SCHEDULED,
                resources=("flatcar-vm1",),
                not_before=datetime(2021, 7, 22, 4, 50, 17, tzinfo=UTC),
                description="",
                source=EventSource.USER,
                duration=None,
            ),
        ),
        (
            "2020-07-01_user_reboot_scheduled",
            ("event",),
            ScheduledEvent(
                id="CA9C0DC4-E841-476D-94D5-9FC2FF983BCD",
                type=EventType.REBOOT,
                status=EventStatus.SCHEDULED,
                resources=("longevity-10gb-3h-master-db-node-eastus-2",),
                not_before=datetime(2023, 3, 16, 14, 1, 28, tzinfo=UTC),
                description=(
                    "Virtual machine is going to be restarted as requested by"
                    " authorized user."
                ),
                source=EventSource.USER,
                duration=None,
            ),
        ),
    ],
)
def test_a_user_reboot_of_unknown_duration_matches_the_recording(
    name: str, path: tuple[str | int, ...], event: ScheduledEvent
) -> None:
    reboot = a_document(2, event)
    raw = b'{"DocumentIncarnation":2,"Events":[%b]}' % compact_event(
        recorded(name, *path)
    )
    assert encode(reboot, VERSIONS["2020-07-01"]) == raw
    assert decode(raw) == reboot


def test_every_recording_is_used_here() -> None:
    source = Path(__file__).read_text()
    names = {path.stem for path in GOLDEN.glob("20*.json")}
    assert names
    assert {name for name in names if f'"{name}"' not in source} == set()
