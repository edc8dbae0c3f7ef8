"""How much one VM may ask of the metadata plane: connections, and requests a second."""

import logging
import time
from collections.abc import Callable
from enum import Enum, auto

_log = logging.getLogger(__name__)

_MOST_REFUSED = 64  # at once; who does not stop gets no word


class Rate:
    """Requests a second of each VM; who was quiet may ask for a second's worth."""

    def __init__(
        self, per_second: float, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Allow `per_second` requests to each VM, by the time of `monotonic`."""
        self._per_second = per_second
        self._most = max(per_second, 1.0)
        self._monotonic = monotonic
        self._left: dict[str, tuple[float, float]] = {}  # and when that was so

    def admits(self, vm: str) -> bool:
        """Count a request of `vm`, unless it is one too many."""
        now = self._monotonic()
        left, at = self._left.get(vm, (self._most, now))
        left = min(self._most, left + (now - at) * self._per_second)
        is_admitted = left >= 1
        self._left[vm] = (left - 1 if is_admitted else left, now)
        return is_admitted


class Verdict(Enum):
    """What becomes of a new connection."""

    ADMITTED = auto()  #: it is served
    REFUSED = auto()  #: its caller has too many; it is told so
    DROPPED = auto()  #: there are far too many; it is closed without a word


class Ceiling:
    """Counts connections; says once that there are too many."""

    def __init__(self, most: int, complaint: str) -> None:
        """Admit `most`; log `complaint` when there are more."""
        self._most = most
        self._complaint = complaint
        self.count = 0
        self._has_complained = False

    def admit(self) -> bool:
        """Count one more, unless it is one too many."""
        if self.count < self._most:
            self.count += 1
            return True
        if not self._has_complained:
            self._has_complained = True
            _log.warning("%s", self._complaint)
        return False

    def release(self) -> bool:
        """Count one less; answer whether any are left."""
        self.count -= 1
        if self.count <= self._most // 2:  # it has got better: it may be said again
            self._has_complained = False
        return self.count > 0


class Connections:
    """Counts connections, of each caller and in all."""

    def __init__(self, *, per_vm: int, total: int) -> None:
        """Admit `per_vm` of each caller, and `total` in all."""
        self._per_vm = per_vm
        self._all = Ceiling(
            total,
            f"there are {total} connections to the metadata plane; more are closed at"
            " once. The limit on open files (ulimit -n) or metadata.connections sets"
            " how many there may be",
        )
        self._by_caller: dict[str, Ceiling] = {}
        #: How many were not admitted, by what became of them.
        self.turned_away = {Verdict.REFUSED: 0, Verdict.DROPPED: 0}
        self._refused = 0  # that are being told so

    @property
    def count(self) -> int:
        """How many there are."""
        return self._all.count

    def admit(self, caller: str | None) -> Verdict:
        """Count a connection of `caller`; None: nobody that could be told apart."""
        verdict = self._judge(caller)
        if verdict is not Verdict.ADMITTED:
            self.turned_away[verdict] += 1
        return verdict

    def _judge(self, caller: str | None) -> Verdict:
        if not self._all.admit():
            return Verdict.DROPPED
        if caller is None or self._of(caller).admit():
            return Verdict.ADMITTED
        if self._refused < _MOST_REFUSED:
            self._refused += 1
            return Verdict.REFUSED
        self._all.release()
        return Verdict.DROPPED

    def release(self, caller: str | None, verdict: Verdict) -> None:
        """Forget a connection of `caller`, of which `verdict` was given."""
        if verdict is Verdict.DROPPED:
            return
        self._all.release()
        if verdict is Verdict.REFUSED:
            self._refused -= 1
        elif caller is not None and not self._by_caller[caller].release():
            del self._by_caller[caller]

    def _of(self, caller: str) -> Ceiling:
        known = self._by_caller.get(caller)
        if known is None:
            known = self._by_caller[caller] = Ceiling(
                self._per_vm,
                f"{caller} has {self._per_vm} connections to the metadata plane; more"
                " are answered 503 (metadata.connections_per_vm)",
            )
        return known
