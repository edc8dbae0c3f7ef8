"""Limits per VM on the metadata plane: connections, and the request rate."""

import logging
import time
from collections.abc import Callable
from enum import Enum, auto

_log = logging.getLogger(__name__)

_MOST_REFUSED = 64  # at once; further connections are closed without a response


class RateLimit:
    """Rate limit per VM; an idle VM may burst one second's quota."""

    def __init__(
        self, per_second: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow each VM `per_second` requests, by the time of `monotonic`."""
        self._per_second = per_second
        self._most = max(per_second, 1.0)
        self._monotonic = monotonic
        self._left: dict[str, tuple[float, float]] = {}  # requests left, and when

    def admits(self, vm: str) -> bool:
        """Count a request of `vm`; return False if it exceeds the rate."""
        now = self._monotonic()
        left, at = self._left.get(vm, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        is_admitted = left >= 1
        self._left[vm] = (left - 1 if is_admitted else left, now)
        return is_admitted


class Admission(Enum):
    """What happens to a new connection."""

    ADMITTED = auto()  #: served
    REFUSED = auto()  #: too many from this caller; it gets a 503
    DROPPED = auto()  #: far too many; closed without a response


class ConnectionCeiling:
    """Connection limit that logs a warning once when it is reached."""

    def __init__(self, most: int, complaint: str) -> None:
        """Admit `most` connections; log `complaint` when there are more."""
        self._most = most
        self._complaint = complaint
        self.count = 0
        self._has_complained = False

    def admit(self) -> bool:
        """Count a connection; return False if there are too many."""
        if self.count < self._most:
            self.count += 1
            return True
        if not self._has_complained:
            self._has_complained = True
            _log.warning("%s", self._complaint)
        return False

    def release(self) -> bool:
        """Uncount a connection; return whether any are left."""
        self.count -= 1
        if self.count <= self._most // 2:  # below half: warn again next time
            self._has_complained = False
        return self.count > 0


class ConnectionLimits:
    """Connection limits, per caller and in total."""

    def __init__(self, *, per_vm: int, total: int) -> None:
        """Admit `per_vm` connections per caller, and `total` overall."""
        self._per_vm = per_vm
        self._all = ConnectionCeiling(
            total,
            f"there are {total} connections to the metadata plane; more are closed at"
            " once. The limit on open files (ulimit -n) or metadata.connections sets"
            " how many there may be",
        )
        self._by_caller: dict[str, ConnectionCeiling] = {}
        #: The number of connections not admitted, by verdict.
        self.turned_away = {Admission.REFUSED: 0, Admission.DROPPED: 0}
        self._refused = 0  # connections that are being sent a 503

    @property
    def count(self) -> int:
        """The number of connections."""
        return self._all.count

    def admit(self, caller: str | None) -> Admission:
        """Count a connection; `caller` is None if it cannot be identified."""
        verdict = self._judge(caller)
        if verdict is not Admission.ADMITTED:
            self.turned_away[verdict] += 1
        return verdict

    def _judge(self, caller: str | None) -> Admission:
        if not self._all.admit():
            return Admission.DROPPED
        if caller is None or self._of(caller).admit():
            return Admission.ADMITTED
        if self._refused < _MOST_REFUSED:
            self._refused += 1
            return Admission.REFUSED
        self._all.release()
        return Admission.DROPPED

    def release(self, caller: str | None, verdict: Admission) -> None:
        """Uncount a connection of `caller` that got `verdict`."""
        if verdict is Admission.DROPPED:
            return
        self._all.release()
        if verdict is Admission.REFUSED:
            self._refused -= 1
        elif caller is not None and not self._by_caller[caller].release():
            del self._by_caller[caller]

    def _of(self, caller: str) -> ConnectionCeiling:
        ceiling = self._by_caller.get(caller)
        if ceiling is None:
            ceiling = self._by_caller[caller] = ConnectionCeiling(
                self._per_vm,
                f"{caller} has {self._per_vm} connections to the metadata plane; more"
                " are answered 503 (metadata.connections_per_vm)",
            )
        return ceiling
