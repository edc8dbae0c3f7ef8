"""What the control API shows: the core's values as JSON."""

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
    """Write `view` as every answer is written."""
    return json.dumps(view, ensure_ascii=False, separators=(",", ":"))


def announced_view(made: Sequence[Maintenance]) -> Json:
    """Show what was announced."""
    return {"maintenances": [maintenance_view(each) for each in made]}


def preview_view(maintenance: Maintenance) -> Json:
    """Show what would be announced; it has no ids yet."""
    view = maintenance_view(maintenance)
    events = [
        {**event_view(maintenance, event, nobody), "id": None, "maintenance": None}
        for event in maintenance.events
    ]
    return {**view, "id": None, "events": events}


def explanation_view(explanation: Explanation) -> Json:
    """Show what a maintenance waits for."""
    return {
        "phase": explanation.phase.value,
        "due": explanation.due,
        "waits": [plain_view(wait) for wait in explanation.waits],
        "starts_at_latest": rfc3339(explanation.starts_at_latest),
        "sentences": [*explanation.sentences],
    }


def story_view(story: Story) -> Json:
    """Show the life of a maintenance."""
    used = story.used
    return {
        "notice_given_seconds": int(story.given.total_seconds()),
        "notice_used_seconds": None if used is None else int(used.total_seconds()),
        "entries": [plain_view(line) for line in story.lines],
        "sentences": [*story.sentences],
    }


def applied_view(applied: Applied) -> Json:
    """Show what a change of the fleet did."""
    found = applied.difference
    return {
        "added": _names(found, lambda old, new: old is None),
        "changed": _names(found, lambda old, new: None not in (old, new)),
        "removed": _names(found, lambda old, new: new is None),
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
            each.name
            for old, new in pairs
            if wanted(old, new)
            for each in (new or old,)
            if each
        ]
        for noun, pairs in nouns.items()
    }
