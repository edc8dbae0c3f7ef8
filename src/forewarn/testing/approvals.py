"""What is wrong with an approval, or with its absence, in a sentence."""

from collections.abc import Mapping, Sequence

from forewarn.core.maintenance import Maintenance, Phase, Via
from forewarn.core.sentences import few
from forewarn.testing.watching import Mark
from forewarn.testing.words import named

#: Why nobody can approve any more.
_OVER: Mapping[Phase, str] = {
    Phase.STARTED: "it started without",
    Phase.COMPLETED: "it started, and is over",
    Phase.CANCELED: "it was canceled",
    Phase.FAILED: "it started, and was given up",
}


def not_approved_by(
    maintenance: Maintenance, event_id: str, by: str | None, within: str
) -> str | None:
    """Say why it is not approved as it should be; None: it is."""
    event, name = maintenance.event(event_id), _named(maintenance, event_id)
    if event.approved_at is not None:
        who = _who(maintenance, event_id)
        is_right = by is None or by.lower() == (event.approved_by or "").lower()
        return None if is_right else f"{name} was approved by {who}, not by {by}"
    whose = "" if by is None else f" by {by}"
    if event.withdrawn_at is not None:
        return f"{name} was not approved{whose}: it was withdrawn, all VMs having left"
    why = _OVER.get(maintenance.phase)
    if why is not None:
        return f"{name} was not approved{whose}: {why}"
    return f"{name} was not approved{whose} within {within}"


def what_approved(maintenance: Maintenance, event_id: str) -> str | None:
    """Say who has approved it although nobody should; None: nobody has."""
    if maintenance.event(event_id).approved_at is None:
        return None
    who = _who(maintenance, event_id)
    return f"{_named(maintenance, event_id)} was approved by {who}"


def too_early(
    name: str,
    marks: Sequence[Mark],
    wanted: str,
    announced: float,
    approved: float | None,
) -> str | None:
    """Say why an event was approved before the mark `wanted`; None: it was not."""
    made = [each.at for each in marks if each.name == wanted]
    fresh = [at for at in made if at >= announced]
    if fresh and (approved is None or min(fresh) <= approved):
        return None
    if fresh and approved is not None:
        late = min(fresh) - approved
        return f"{name} was approved {late:.2f} s before the mark {wanted!r}"
    is_so = "is not approved" if approved is None else "was approved"
    if made:
        return f"{name} {is_so}, and the mark {wanted!r} is older than its announcement"
    others = sorted({each.name for each in marks})
    there = f"; there are {few(others)}" if others else ", nor any other"
    return f"{name} {is_so}, and there is no mark {wanted!r}{there}"


def _named(maintenance: Maintenance, event_id: str) -> str:
    vms = few(maintenance.event(event_id).resources)
    return f"{named(maintenance, event_id)} of {vms}"


def _who(maintenance: Maintenance, event_id: str) -> str:
    event = maintenance.event(event_id)
    if event.approved_via is Via.POLICY:
        return f"the settings of group {event.group}"
    return event.approved_by or "nobody that is known"
