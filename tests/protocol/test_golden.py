"""Golden files: recorded responses of a real endpoint, encoded and decoded."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
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
from forewarn.protocol.versions import VERSIONS, DateForm

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


def an_event(
    event_id: str,
    *resources: str,
    type: EventType = EventType.REBOOT,
    status: EventStatus = EventStatus.SCHEDULED,
    not_before: datetime | None = None,
    description: str = "",
    source: EventSource | None = None,
    duration: int | None = None,
) -> ScheduledEvent:
    return ScheduledEvent(
        id=event_id,
        type=type,
        status=status,
        resources=resources,
        not_before=not_before,
        description=description,
        source=source,
        duration=duration,
    )


def a_started_freeze(event_id: str, resource: str, *, duration: int) -> ScheduledEvent:
    return an_event(
        event_id,
        resource,
        type=EventType.FREEZE,
        status=EventStatus.STARTED,
        description="Host server is undergoing maintenance.",
        source=EventSource.PLATFORM,
        duration=duration,
    )


def a_preempt(
    event_id: str, resource: str, not_before: datetime | None
) -> ScheduledEvent:
    return an_event(
        event_id,
        resource,
        type=EventType.PREEMPT,
        not_before=not_before,
        source=EventSource.PLATFORM,
    )


def a_live_migration(
    status: EventStatus, not_before: datetime | None = None
) -> ScheduledEvent:
    return an_event(
        "C7061BAC-AFDC-4513-B24B-AA5F13A16123",
        "WestNO_0",
        "WestNO_1",
        type=EventType.FREEZE,
        status=status,
        not_before=not_before,
        description=LIVE_MIGRATION,
        source=EventSource.PLATFORM,
        duration=5,
    )


# --- recordings of whole documents and events --------------------------------

REBOOT_2019 = an_event(
    "F3E6E2D2-E86A-47F0-AA8E-18918049A2B1",
    "controlplane_0",
    not_before=datetime(2019, 6, 30, 16, 22, 3, tzinfo=UTC),
)
FREEZES = "2020-07-01_freeze_started_aks"
MIGRATION = "2020-07-01_live_migration_docs_lifecycle"
USER_REBOOT = "2020-07-01_user_reboot_lifecycle"

#: The version, the recording and the part of it, the incarnation, and the events.
RECORDED: Sequence[
    tuple[str, str, tuple[str | int, ...], int, list[ScheduledEvent]]
] = [
    *((version, "empty_document", ("raw",), 0, []) for version in VERSIONS),
    (
        "2019-08-01",
        "2019-08-01_preempt_scheduled",
        ("raw",),
        1,
        [
            a_preempt(
                "51941B56-8080-45AC-81AE-8BDA818F5958",
                "aks-workloads1-15413341-vmss_3",
                datetime(2024, 3, 16, 19, 52, 9, tzinfo=UTC),
            )
        ],
    ),
    (
        "2019-08-01",
        "2019-08-01_preempt_docs_example",
        ("raw",),
        1,
        [
            a_preempt(
                "A123BC45-1234-5678-AB90-ABCDEF123456",
                "myspotvm",
                datetime(2021, 3, 16, 0, 58, 46, tzinfo=UTC),
            )
        ],
    ),
    *(
        (version, "2017_or_2019_reboot_vmss", ("body",), 1, [REBOOT_2019])
        for version in ("2017-08-01", "2017-11-01", "2019-01-01")
    ),
    (
        "2020-07-01",
        FREEZES,
        ("documents", 0, "body"),
        16,
        [
            a_started_freeze(
                "465D3B0F-D7F2-4239-AC11-1B9800E73DBC",
                "spot-node-34525998-vmss_6",
                duration=30,
            )
        ],
    ),
    (
        "2020-07-01",
        FREEZES,
        ("documents", 1, "body"),
        32,
        [
            a_started_freeze(
                "3474C1DD-0917-49F4-85F7-84B9E366719B",
                "regular-node-30975042-vmss_6",
                duration=6,
            )
        ],
    ),
    (
        "2020-07-01",
        FREEZES,
        ("documents", 2, "event"),
        33,
        [
            a_started_freeze(
                "B2BC520E-BDA2-44A0-BF75-0C320524BB47",
                "aks-testspot-38041100-vmss_25",
                duration=30,
            )
        ],
    ),
    ("2020-07-01", MIGRATION, ("documents", 0), 1, []),
    (
        "2020-07-01",
        MIGRATION,
        ("documents", 1),
        2,
        [
            a_live_migration(
                EventStatus.SCHEDULED, datetime(2022, 4, 11, 22, 26, 58, tzinfo=UTC)
            )
        ],
    ),
    (
        "2020-07-01",
        MIGRATION,
        ("documents", 2),
        3,
        [a_live_migration(EventStatus.STARTED)],
    ),
    ("2020-07-01", MIGRATION, ("documents", 3), 4, []),
    ("2020-07-01", USER_REBOOT, ("timeline", 1, "body"), 1, []),
    (
        "2020-07-01",
        USER_REBOOT,
        ("timeline", 2, "body", "Events", 0),
        2,
        [
            an_event(
                "4CAEA225-A741-474D-A72E-428C86FCD853",
                "flatcar-vm1",
                not_before=datetime(2021, 7, 22, 4, 50, 17, tzinfo=UTC),
                source=EventSource.USER,
            )
        ],
    ),
    ("2020-07-01", USER_REBOOT, ("timeline", 4, "body"), 4, []),
    (
        "2020-07-01",
        "2020-07-01_user_reboot_scheduled",
        ("event",),
        2,
        [
            an_event(
                "CA9C0DC4-E841-476D-94D5-9FC2FF983BCD",
                "longevity-10gb-3h-master-db-node-eastus-2",
                not_before=datetime(2023, 3, 16, 14, 1, 28, tzinfo=UTC),
                description="Virtual machine is going to be restarted as requested by"
                " authorized user.",
                source=EventSource.USER,
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("version", "name", "path", "incarnation", "events"),
    RECORDED,
    ids=[f"{version}-{name}-{path[-1]}" for version, name, path, *_ in RECORDED],
)
def test_a_document_matches_its_recording(
    version: str,
    name: str,
    path: tuple[str | int, ...],
    incarnation: int,
    events: list[ScheduledEvent],
) -> None:
    document = Document(incarnation=incarnation, events=tuple(events))
    part = recorded(name, *path)
    assert isinstance(part, Mapping | str)
    if isinstance(part, str):
        raw = part.encode()
    elif "Events" in part:
        raw = compact_document(part)
        assert decode(compact(part)) == document  # in the order of the recording
    else:
        raw = compact_document({"DocumentIncarnation": incarnation, "Events": [part]})
    assert encode(document, VERSIONS[version]) == raw
    assert decode(raw) == document


# --- recordings of parts -----------------------------------------------------


def test_the_recorded_empty_body_means_no_events() -> None:
    assert decode(recorded_bytes("empty_body_200", "raw")) == Document(incarnation=0)


def test_a_terminate_of_2019_08_01_matches_the_recorded_beginning() -> None:
    terminate = an_event(
        "C37355DB-2C23-4195-90CA-1A712A85650C", "aks-tom", type=EventType.TERMINATE
    )
    written = encode(
        Document(incarnation=1, events=(terminate,)), VERSIONS["2019-08-01"]
    )
    beginning = recorded_bytes("2019-08-01_terminate_scheduled_fragment", "raw_prefix")
    assert written.startswith(beginning)
    with pytest.raises(Malformed):
        decode(beginning)


def test_a_redeploy_of_2017_03_01_has_an_underscore_and_the_recorded_date() -> None:
    redeploy = an_event(
        "762D06A2-8289-469B-AB27-4D26C9C745B3",
        "mysrv",
        type=EventType.REDEPLOY,
        not_before=datetime(2017, 4, 17, 18, 40, 6, tzinfo=UTC),
    )
    name = "2017-03-01_redeploy_scheduled_underscore"
    event = compact_event(recorded(name, "rebuilt", "Events", 0))
    document = Document(incarnation=7, events=(redeploy,))
    written = encode(document, VERSIONS["2017-03-01"], DateForm.RFC1123)
    assert written == b'{"DocumentIncarnation":7,"Events":[%b]}' % event
    without_incarnation = decode(compact(recorded(name, "rebuilt")))
    shown = replace(redeploy, resources=("_mysrv",))
    assert without_incarnation == Document(incarnation=0, events=(shown,))


def test_two_reboots_of_2017_08_01_keep_their_order() -> None:
    first = an_event(
        "28512AF7-C957-4500-9BC4-842D6FB531E4",
        "sample_4",
        not_before=datetime(2018, 1, 24, 21, 20, 44, tzinfo=UTC),
    )
    # The date of the second is not in the recording.
    second = an_event("A626E37F-793E-44E1-89B5-99AE0B96044C", "sample_4")
    both = Document(incarnation=192, events=(first, second))
    fragments = recorded("2017-08-01_two_reboots_sample", "fragments")
    event = compact_event(
        recorded("2017-08-01_two_reboots_sample", "fragments", "Events", 0)
    )
    written = encode(both, VERSIONS["2017-08-01"])
    assert written.startswith(b'{"DocumentIncarnation":192,"Events":[%b,{' % event)
    assert decode(compact(fragments)) == both


def test_every_recording_is_used_here() -> None:
    source = Path(__file__).read_text()
    names = {path.stem for path in GOLDEN.glob("20*.json")}
    assert names
    assert {name for name in names if f'"{name}"' not in source} == set()
