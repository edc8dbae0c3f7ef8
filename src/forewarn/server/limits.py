"""How much one VM may ask of the metadata plane: connections, and requests a second."""

import logging
import time
from collections.abc import Callable
from enum import Enum, auto

_log = logging.getLogger(__name__)


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
    DROPPED = auto()  #: there are too many in all; it is closed without a word


class Connections:
    """Counts connections, of each caller and in all."""

    def __init__(self, *, per_vm: int, total: int) -> None:
        """Admit `per_vm` of each caller, and `total` in all."""
        self._per_vm = per_vm
        self._total = total
        self._count = 0
        self._by_caller: dict[str, int] = {}
        self._complained: set[str | None] = set()  # about; None: all together

    def admit(self, caller: str | None) -> Verdict:
        """Count a connection of `caller`; None: nobody that could be told apart."""
        if self._count >= self._total:
            self._complain(
                None,
                f"there are {self._total} connections to the metadata plane; more are"
                " closed at once. The limit on open files (ulimit -n) or"
                " metadata.connections sets how many there may be",
            )
            return Verdict.DROPPED
        self._count += 1
        if caller is None:
            return Verdict.ADMITTED
        has = self._by_caller[caller] = self._by_caller.get(caller, 0) + 1
        if has <= self._per_vm:
            return Verdict.ADMITTED
        self._complain(
            caller,
            f"{caller} has {self._per_vm} connections to the metadata plane; more are"
            " answered 503 (metadata.connections_per_vm)",
        )
        return Verdict.REFUSED

    def release(self, caller: str | None) -> None:
        """Forget a connection that was counted."""
        self._count -= 1
        if self._count <= self._total // 2:
            self._complained.discard(None)
        if caller is None:
            return
        left = self._by_caller[caller] - 1
        if left:
            self._by_caller[caller] = left
        else:
            del self._by_caller[caller]
        if left <= self._per_vm // 2:
            self._complained.discard(caller)

    def _complain(self, about: str | None, text: str) -> None:
        """Say it once, and again only if it gets better in between."""
        if about not in self._complained:
            self._complained.add(about)
            _log.warning("%s", text)
