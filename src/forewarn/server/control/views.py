"""JSON views of the control API."""

import json
from collections.abc import Callable, Mapping, Sequence

from forewarn.core.changes import Difference
from forewarn.core.explaining import Explanation
from forewarn.core.fleet import VM, Group, Host
from forewarn.core.maintenance import Maintenance
from forewarn.core.story import Story
from forewarn.core.views import (
    Json,
    SeenBy,
    entry_view,
    event_view,
    group_view,
    host_view,
    maintenance_view,
    nobody,
    plain_view,
    rfc3339,
    vm_view,
)
from forewarn.engine.fleets import Applied

__all__ = [
    "Json",
    "SeenBy",
    "announced_view",
    "applied_view",
    "entry_view",
    "event_view",
    "explanation_view",
    "group_view",
    "host_view",
    "maintenance_view",
    "nobody",
    "plain_view",
    "preview_view",
    "rfc3339",
    "story_view",
    "vm_view",
    "written",
]


def written(view: Json) -> str:
    """Serialize `view` the way all responses are serialized."""
    return json.dumps(view, ensure_ascii=False, separators=(",", ":"))


def announced_view(made: Sequence[Maintenance]) -> Json:
    """Return announced maintenance operations as JSON."""
    return {"maintenances": [maintenance_view(maintenance) for maintenance in made]}


def preview_view(maintenance: Maintenance) -> Json:
    """Return a maintenance that would be announced, without ids, as JSON."""
    view = maintenance_view(maintenance)
    events = [
        {**event_view(maintenance, event, nobody), "id": None, "maintenance": None}
        for event in maintenance.events
    ]
    return {**view, "id": None, "events": events}


def explanation_view(explanation: Explanation) -> Json:
    """Return what a maintenance waits for as JSON."""
    return {
        "phase": explanation.phase.value,
        "due": explanation.due,
        "waits": [plain_view(wait) for wait in explanation.waits],
        "starts_at_latest": rfc3339(explanation.starts_at_latest),
        "sentences": [*explanation.sentences],
    }


def story_view(story: Story) -> Json:
    """Return the history of a maintenance as JSON."""
    used = story.used
    return {
        "notice_given_seconds": int(story.given.total_seconds()),
        "notice_used_seconds": None if used is None else int(used.total_seconds()),
        "entries": [plain_view(line) for line in story.lines],
        "sentences": [*story.sentences],
    }


def applied_view(applied: Applied) -> Json:
    """Return the effect of a fleet change as JSON."""
    difference = applied.difference
    return {
        "added": _names(difference, lambda old, new: old is None),
        "changed": _names(difference, lambda old, new: None not in (old, new)),
        "removed": _names(difference, lambda old, new: new is None),
        "warnings": [*applied.warnings],
    }


def _names(found: Difference, wanted: Callable[[object, object], bool]) -> Json:
    nouns: Mapping[str, Sequence[tuple[Host | Group | VM | None, ...]]] = {
        "hosts": found.hosts,
        "groups": found.groups,
        "vms": found.vms,
    }
    return {
        noun: [
            part.name
            for old, new in pairs
            if wanted(old, new)
            for part in (new or old,)
            if part
        ]
        for noun, pairs in nouns.items()
    }
