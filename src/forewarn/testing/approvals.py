"""Failure messages about approvals that are missing, wrong or too early."""

from collections.abc import Mapping, Sequence

from forewarn.core.maintenance import Maintenance, Phase, Via
from forewarn.core.sentences import few
from forewarn.testing.watching import Mark
from forewarn.testing.words import named

#: Why an event can no longer be approved.
_OVER: Mapping[Phase, str] = {
    Phase.STARTED: "it started without",
    Phase.COMPLETED: "it started, and is over",
    Phase.CANCELED: "it was canceled",
    Phase.FAILED: "it started, and was given up",
}


def not_approved_by(
    maintenance: Maintenance, event_id: str, by: str | None, within: str
) -> str | None:
    """Explain why the event is not approved by `by`; None if it is."""
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
    """Name who approved an event that nobody should approve; None if nobody did."""
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
    """Explain why the approval came before the mark `wanted`; None if it did not."""
    times = [mark.at for mark in marks if mark.name == wanted]
    fresh = [at for at in times if at >= announced]
    if fresh and (approved is None or min(fresh) <= approved):
        return None
    if fresh and approved is not None:
        late = min(fresh) - approved
        return f"{name} was approved {late:.2f} s before the mark {wanted!r}"
    is_so = "is not approved" if approved is None else "was approved"
    if times:
        return f"{name} {is_so}, and the mark {wanted!r} is older than its announcement"
    others = sorted({mark.name for mark in marks})
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
