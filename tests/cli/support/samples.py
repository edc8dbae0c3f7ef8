"""Sample response bodies of the service; every argument is optional."""

from forewarn.core.fleet import VM, Group
from forewarn.core.fleet_file import group_table, vm_table

Json = dict[str, object]

M1 = "m-1"
M2 = "m-2"
GUID = "0A4B7C1E-52F3-4C6D-9E8F-1B2A3C4D5E6F"
E1 = "2C6D9E30-74B5-4E8F-90A1-3D4C5E6F7081"
E2 = "3D7EAF41-85C6-4F90-A1B2-4E5D6F708192"


def page(*items: object, following: str | None = None) -> Json:
    return {"items": [*items], "next": following}


def an_event(**changed: object) -> Json:
    event: Json = {
        "id": E1,
        "maintenance": M1,
        "group": "web",
        "resources": ["web-0", "web-1"],
        "status": "Scheduled",
        "approved_by": None,
        "approved_via": None,
        "approved_at": None,
        "seen_by": [],
    }
    return {**event, **changed}


def a_maintenance(**changed: object) -> Json:
    maintenance: Json = {
        "id": M1,
        "guid": GUID,
        "type": "Reboot",
        "source": "Platform",
        "cause": "platform",
        "phase": "SCHEDULED",
        "host": None,
        "vms": ["web-0", "web-1"],
        "not_before": "2026-01-01T12:15:00Z",
        "duration_seconds": -1,
        "description": "Host server is undergoing maintenance.",
        "announced_at": "2026-01-01T12:00:00Z",
        "started_at": None,
        "ended_at": None,
        "stuck_since": None,
        "reason": None,
        "events": [an_event()],
    }
    return {**maintenance, **changed}


def an_entry(position: int, fact: str, **changed: object) -> Json:
    entry: Json = {
        "position": position,
        "at": "2026-01-01T12:00:00Z",
        "fact": fact,
        "maintenance": None,
        "event": None,
        "group": None,
        "by": None,
        "via": None,
    }
    return {**entry, **changed}


def a_vm(name: str, **changed: object) -> Json:
    return {**vm_table(VM(name=name, group=name)), **changed}


def a_group(name: str, **changed: object) -> Json:
    seen: Json = {"enabled_since": None, "last_request": None}
    return {**group_table(Group(name=name)), **seen, **changed}
