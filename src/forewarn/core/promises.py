"""Whether a promise of notice was kept, judged from the end.

1. What starts without the approval of everybody starts neither before its NotBefore
   nor before it was shown for as long as its type promises, outages not counted.
2. What was announced to begin at once promises nothing: user operations on silent
   groups, deletions, host failures, emergencies without notice. An emergency that
   has a NotBefore promises that alone.
3. This file judges by what was written down. It does not ask `policy`, which decided:
   nobody is his own judge.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core.maintenance import Cause, Event, Maintenance
from forewarn.core.outages import Outage, lost

_NONE = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """How much notice one maintenance promised, gave and used."""

    promised: timedelta  # the least; zero: it promised none
    given: timedelta  # from the announcement to NotBefore
    used: timedelta | None  # until it started; None: it has not
    away: timedelta  # how much of that the service was away for
    saved: timedelta  # how much sooner it started, because everybody had approved
    unapproved: tuple[str, ...]  # groups that had not approved when it started
    too_soon: timedelta  # how much before it might; zero, unless forewarn is wrong

    @property
    def is_broken(self) -> bool:
        """Whether it started before it might."""
        return self.too_soon > _NONE


def judge(maintenance: Maintenance, outages: Iterable[Outage]) -> Notice:
    """Say what notice `maintenance` promised, gave and used, and whether that is right.

    Meant for one that has started or is over; of `outages`, those are needed that lie
    between its announcement and its start. One that never started broke no promise.
    """
    announced, started = maintenance.announced_at, maintenance.started_at
    given = maintenance.not_before - announced
    if started is None:
        return Notice(
            promised=timedelta(seconds=maintenance.promised),
            given=given,
            used=None,
            away=_NONE,
            saved=_NONE,
            unapproved=(),
            too_soon=_NONE,
        )
    away = lost(outages, announced, started)
    missing = [each for each in maintenance.events if _is_missing(each, started)]
    early = max(maintenance.not_before - started, _NONE)
    return Notice(
        promised=timedelta(seconds=maintenance.promised),
        given=given,
        used=started - announced,
        away=away,
        saved=_NONE if missing else early,
        unapproved=tuple(dict.fromkeys(each.group for each in missing)),
        too_soon=max(_earliest(maintenance, away) - started, _NONE)
        if missing
        else _NONE,
    )


def _is_missing(event: Event, started: datetime) -> bool:
    """Whether `event` was there, and not approved, at the moment of the start."""
    is_gone = event.withdrawn_at is not None and event.withdrawn_at <= started
    is_approved = event.approved_at is not None and event.approved_at <= started
    return not is_gone and not is_approved


def _earliest(maintenance: Maintenance, away: timedelta) -> datetime:
    """When it might start without the approval of everybody."""
    announced = maintenance.announced_at
    if maintenance.at_once or maintenance.cause is Cause.HOST_FAILURE:
        return announced
    if not maintenance.promised:
        return maintenance.not_before
    shown = announced + timedelta(seconds=maintenance.promised) + away
    return max(maintenance.not_before, shown)
