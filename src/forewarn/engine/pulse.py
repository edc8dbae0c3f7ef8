"""The heartbeat: a time in the store that tells when the service was there last.

Every writing transaction looks at it before it decides anything, so that no decision
takes an outage for notice.
"""

import logging
from datetime import datetime, timedelta

from forewarn.clocks import ManualClock
from forewarn.core import commands
from forewarn.core.maintenance import Slice
from forewarn.core.outages import Outage
from forewarn.ports import Clock, Snapshot, Transaction

#: The setting that holds it.
HEARTBEAT = "heartbeat"

_GAP = timedelta(minutes=1)  # of real time; what is longer is an outage

_log = logging.getLogger(__name__)


class Pulse:
    """Writes the heartbeat, and notices when it was missing."""

    def __init__(self, clock: Clock) -> None:
        """Go by the time of `clock`."""
        self._clock = clock

    def beat(self, transaction: Transaction, now: datetime) -> None:
        """Write the heartbeat; a clock that was set back takes it along."""
        if heartbeat(transaction) != now:
            transaction.keep(HEARTBEAT, now.isoformat())

    def feel(self, transaction: Transaction, now: datetime) -> Outage | None:
        """Take down the outage that ends now, if there is one."""
        last = heartbeat(transaction)
        outage = None if last is None else self._outage(last, now)
        if outage is not None:
            before = Slice()
            transaction.save(before, commands.end_outage(before, outage, now), {})
        if outage is not None or isinstance(self._clock, ManualClock):
            self.beat(transaction, now)
        return outage

    def _outage(self, last: datetime, now: datetime) -> Outage | None:
        """A manual clock that is moved while the service runs is no outage."""
        clock = self._clock
        until = clock.start if isinstance(clock, ManualClock) else now
        if until - last <= _GAP * clock.rate:
            return None
        return Outage(since=last, until=until)


def warn_of(outage: Outage) -> None:
    """Tell the operator of an outage that was taken down."""
    _log.warning(
        "the service was away from %s to %s; this counts neither as notice nor as"
        " silence",
        outage.since.isoformat(timespec="seconds"),
        outage.until.isoformat(timespec="seconds"),
    )


def heartbeat(snapshot: Snapshot) -> datetime | None:
    """When the service was there last; None: never."""
    text = snapshot.setting(HEARTBEAT)
    return None if text is None else datetime.fromisoformat(text)
