"""Recordings of responses from real services, served unchanged."""

import json
from collections.abc import Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from tests.recordings.recordings import a_header, a_recording, text_of

from forewarn.recordings.format import RecordedDocument, parse_recording
from forewarn.testing.replay.projection import project

GOLDEN = Path(__file__).parents[2] / "golden"
NAMES = [
    "2020-07-01_live_migration_docs_lifecycle",
    "2020-07-01_user_reboot_lifecycle",
    "2020-07-01_freeze_started_aks",
    "2019-08-01_preempt_scheduled",
    "2019-08-01_preempt_docs_example",
    "2017-08-01_two_reboots_sample",
    "2017-03-01_redeploy_scheduled_underscore",
]


def documents(kept: object) -> Iterator[Mapping[str, object]]:
    """Yield all documents in a golden file."""
    if isinstance(kept, dict) and "Events" in kept:
        yield kept
    elif isinstance(kept, dict):
        for name, inner in kept.items():
            yield from documents(json.loads(inner) if name == "raw" else inner)
    elif isinstance(kept, list):
        for item in kept:
            yield from documents(item)


@pytest.mark.parametrize("name", NAMES)
def test_a_recorded_document_is_served_as_it_was(name: str) -> None:
    recorded = [*documents(json.loads((GOLDEN / f"{name}.json").read_text()))]
    assert recorded
    showings = [
        RecordedDocument(after=float(n), document=d) for n, d in enumerate(recorded)
    ]
    header = a_header(api_version=name[:10])
    recording = parse_recording(text_of(a_recording(*showings, header=header)), name)
    served = [
        project(showing, recording, number=0, turn=0, by=timedelta())
        for showing in recording.documents
    ]
    assert [json.loads(showing.bodies[name[:10]]) for showing in served] == recorded
