"""What a driver says during one call: heard to the end, and written down."""

import logging
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import groupby

from forewarn.engine.journal import Complaints
from forewarn.engine.ledger import Ledger
from forewarn.ports import Bell, Driver, Printed, Report, Work

_log = logging.getLogger(__name__)

#: How much of what a driver leaves to read is kept, in bytes of UTF-8.
MOST_OUTPUT = 64 * 1024

_LONGEST_DETAIL = 1000  # characters

Said = Sequence[Report] | Printed


def listen(driver: Driver, work: Work) -> Iterator[Said]:
    """Let `driver` act, and tell what it says; if it fails, that is said, too.

    What it raises is a failure of all VMs that it has not reported on.
    """
    reported: set[str] = set()
    room = MOST_OUTPUT
    try:
        for said in _parts(driver.carry_out(work)):
            if isinstance(said, Printed):
                text = end_of(said.text, room)
                room -= len(text.encode())
                if text:
                    yield Printed(text=text)
            else:
                reported.update(each.vm for each in said)
                yield said
    except (Exception, SystemExit) as error:
        _log.exception("the driver failed on %s", work.maintenance)
        detail = f"the driver failed: {type(error).__name__}: {error}"
        yield [
            Report(vm=vm.name, failed=True, detail=detail[:_LONGEST_DETAIL])
            for vm in work.vms
            if vm.name not in reported
        ]


def end_of(text: str, most: int) -> str:
    """The end of `text`, at most so many bytes of it."""
    written = text.encode(errors="replace")  # halves of characters become marks
    return written[max(len(written) - most, 0) :].decode(errors="ignore")


def _parts(said: object) -> Iterator[Said]:
    """Take reports together that came together; pass over what is neither."""
    if not isinstance(said, Sequence):
        for each in said:  # type: ignore[attr-defined]  # else the driver fails here
            yield from _parts(each if isinstance(each, Sequence) else [each])
        return
    known = [each for each in said if isinstance(each, Report | Printed)]
    for kind, several in groupby(known, type):
        if kind is Printed:
            yield from (each for each in several if isinstance(each, Printed))
        else:
            yield [each for each in several if isinstance(each, Report)]


class Scribe:
    """Writes down what drivers say; what cannot be written is kept until it can."""

    def __init__(self, ledger: Ledger, leaving: Bell, *, pause: float | None) -> None:
        """Write into `ledger`; once `leaving` rings, no failures.

        Try again after a `pause`, in seconds; None: leave that to the caller.
        """
        self._ledger = ledger
        self._leaving = leaving
        self._pause = pause
        self._complaints = Complaints("works")
        self._is_over = False

    def stop(self) -> None:
        """Write nothing more."""
        self._is_over = True

    def take_down(self, work: Work, said: Said) -> bool:
        """Write down what was `said`; answer whether the maintenance is stuck."""
        if isinstance(said, Printed):
            self._insist(partial(self._keep, work, said))
            return False
        is_stuck = False
        for failed, detail in sorted({(each.failed, each.detail) for each in said}):
            alike = [
                each for each in said if (each.failed, each.detail) == (failed, detail)
            ]
            is_stuck |= self._insist(partial(self._report, work, alike))
        return is_stuck

    def _keep(self, work: Work, printed: Printed) -> bool:
        self._ledger.keep_output(work, printed.text)
        return False

    def _report(self, work: Work, alike: Sequence[Report]) -> bool:
        first = alike[0]
        if first.failed and self._leaving.is_set():
            return False  # it was told to end
        vms = [each.vm for each in alike]
        return self._ledger.report(work, vms, failed=first.failed, detail=first.detail)

    def _insist(self, write: Callable[[], bool]) -> bool:
        while not self._is_over:
            try:
                is_stuck = write()
            except Exception as error:
                if self._pause is None:
                    raise
                if self._leaving.is_set():
                    return False
                self._complaints.about(error)
                self._leaving.wait(self._pause)
            else:
                self._complaints.end()
                return is_stuck
        return False
