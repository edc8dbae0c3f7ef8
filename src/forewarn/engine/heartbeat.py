"""Heartbeat: a stored time that shows when the service was last running.

Every write transaction checks the heartbeat before making decisions, so that no
decision counts an outage as notice.
"""

from datetime import datetime, timedelta

from forewarn.clocks import ManualClock
from forewarn.core.lifecycle.facts import OutageEnded
from forewarn.core.outages import Outage
from forewarn.engine.observations import record_facts
from forewarn.ports import Clock, Snapshot, Transaction

#: The stored setting for the heartbeat.
HEARTBEAT = "heartbeat"

INTERVAL = 10.0  # seconds of real time between heartbeats
_GAP = timedelta(minutes=1)  # real time; a longer gap is an outage


def beat(transaction: Transaction, now: datetime) -> None:
    """Save the heartbeat, even if the clock was set back."""
    if last_heartbeat(transaction) != now:
        transaction.keep(HEARTBEAT, now.isoformat())


def detect_outage(transaction: Transaction, clock: Clock, now: datetime) -> None:
    """Detect and record an outage that has just ended."""
    last = _last_alive(transaction)
    outage = None if last is None else _outage(clock, last, now)
    if outage is not None:
        record_facts(transaction, [OutageEnded(at=now, outage=outage)])
    if outage is not None or isinstance(clock, ManualClock):
        beat(transaction, now)


def _last_alive(snapshot: Snapshot) -> datetime | None:
    """Return the time of the last heartbeat or fact, or None if there is neither."""
    times = (last_heartbeat(snapshot), snapshot.last_at())
    return max((at for at in times if at is not None), default=None)


def _outage(clock: Clock, last: datetime, now: datetime) -> Outage | None:
    """Return the outage since `last`, if any. Advancing a manual clock is no outage."""
    until = clock.start if isinstance(clock, ManualClock) else now
    if until - last <= _GAP * clock.rate:
        return None
    return Outage(since=last, until=until)


def last_heartbeat(snapshot: Snapshot) -> datetime | None:
    """Return when the service was last running, or None if never."""
    text = snapshot.setting(HEARTBEAT)
    return None if text is None else datetime.fromisoformat(text)
