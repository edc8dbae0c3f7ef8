"""Notice audit: whether each maintenance operation gave the promised notice.

1. Unless all groups have approved, a maintenance operation starts only when its
   NotBefore has come and its events have been visible for the notice that their type
   promises. Downtime does not count.
2. Immediate operations promise no notice: user operations on disabled groups,
   deletions, host failures, and emergencies without notice. An emergency with a
   NotBefore promises only that time.
3. The audit uses only recorded data, never `policy`, so that it can reveal policy bugs.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core.lifecycle.model import Cause, Event, Maintenance
from forewarn.core.outages import Outage, time_lost

_NONE = timedelta(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoticeAudit:
    """The promised, given and used notice of one maintenance operation."""

    promised: timedelta  # the minimum; zero if none was promised
    given: timedelta  # from the announcement to NotBefore
    used: timedelta | None  # from the announcement to the start; None if not started
    away: timedelta  # downtime within the notice
    saved: timedelta  # how much earlier it started because all groups approved
    unapproved: tuple[str, ...]  # groups that had not approved at the start
    too_soon: timedelta  # how much too early it started; zero unless there is a bug

    @property
    def is_broken(self) -> bool:
        """Whether it started earlier than promised."""
        return self.too_soon > _NONE


def audit_notice(maintenance: Maintenance, outages: Iterable[Outage]) -> NoticeAudit:
    """Audit the notice of a maintenance operation that has started or ended.

    `outages` must include all outages between its announcement and its start. An
    operation that never started broke no promise.
    """
    announced, started = maintenance.announced_at, maintenance.started_at
    notice = maintenance.not_before - announced
    if started is None:
        return NoticeAudit(
            promised=timedelta(seconds=maintenance.promised),
            given=notice,
            used=None,
            away=_NONE,
            saved=_NONE,
            unapproved=(),
            too_soon=_NONE,
        )
    away = time_lost(outages, announced, started)
    missing = [event for event in maintenance.events if _is_missing(event, started)]
    early = max(maintenance.not_before - started, _NONE)
    return NoticeAudit(
        promised=timedelta(seconds=maintenance.promised),
        given=notice,
        used=started - announced,
        away=away,
        saved=_NONE if missing else early,
        unapproved=tuple(dict.fromkeys(event.group for event in missing)),
        too_soon=max(_earliest(maintenance, away) - started, _NONE)
        if missing
        else _NONE,
    )


def _is_missing(event: Event, started: datetime) -> bool:
    """Return whether `event` was live but not approved at the start."""
    is_gone = event.withdrawn_at is not None and event.withdrawn_at <= started
    is_approved = event.approved_at is not None and event.approved_at <= started
    return not is_gone and not is_approved


def _earliest(maintenance: Maintenance, away: timedelta) -> datetime:
    """Return the earliest permitted start if any approval is missing."""
    announced = maintenance.announced_at
    if maintenance.at_once or maintenance.cause is Cause.HOST_FAILURE:
        return announced
    if not maintenance.promised:
        return maintenance.not_before
    shown = announced + timedelta(seconds=maintenance.promised) + away
    return max(maintenance.not_before, shown)
