"""The course of a lint run: the situations that the program goes through.

1. Another VM's event comes first and alone, because a program that approves everything
   would otherwise look like one that approves its own event.
2. All events are announced while the service's clock shows the machine's time, within
   seconds. Programs may compare NotBefore with the machine's clock.
3. Nothing changes before the program has had time to react to the previous document.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from forewarn.core.faults import FaultKind, FaultOn
from forewarn.core.lifecycle.model import Phase
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.lint.evidence import (
    RETRY_AFTER,
    AnnouncedEvent,
    CoursePart,
    CourseSpan,
    Evidence,
    ProgramExit,
    ShownDocument,
    longest_pause,
    polls_of,
)
from forewarn.testing.lint.observer import FUTURE_EVENT, LintRehearsal
from forewarn.testing.rehearsal.event import RehearsedEvent
from forewarn.testing.rehearsal.program import Program
from forewarn.testing.rehearsal.rehearsal import catch_up

_PAUSES = 4  # polling intervals in which the program must react
_MIN_POLLS = 3  # polls that are enough to determine the polling interval

_AFTER_WORK = "1m"  # long enough for started events to end
_SILENCE = "25h"

_ERRORS = (
    FaultKind.UNAVAILABLE,
    FaultKind.ERROR,
    FaultKind.GONE,
    FaultKind.RESET,
    FaultKind.EMPTY,
    FaultKind.ERROR_BODY,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintPace:
    """Time limits, in seconds of real time."""

    first_request: float = 20.0
    first_response: float = 3.0  # until the first response that is not an error
    longest_pause: float = 16.0  # a longer interval counts as polling too rarely
    longest_quiet: float = 12.0  # once the program has polled twice
    shortest_quiet: float = 1.5
    min_patience: float = 8.0
    max_patience: float = 20.0
    moment: float = 1.0  # for the program to crash or approve
    refusal: float = 3.5  # how long the response is 429


class LintCourse:
    """Plays all parts to a program and records when each part was played."""

    def __init__(
        self,
        rehearsal: LintRehearsal,
        program: Program,
        pace: LintPace,
        *,
        deadline: float,
        begin: Callable[[CoursePart], None],
    ) -> None:
        """Create a course for `program`.

        `begin` is called before each part. The course ends no later than `deadline`.
        """
        self._rehearsal = rehearsal
        self._program = program
        self._pace = pace
        self._deadline = deadline
        self._begin = begin
        self._patience = pace.min_patience  # until the polling interval is known
        self._events: list[RehearsedEvent] = []
        self._began: list[tuple[CoursePart, float]] = []

    def play(self) -> Evidence:
        """Play all parts or stop early if the program no longer reacts."""
        for part, play in self._parts():
            self._began.append((part, time.monotonic()))
            self._begin(part)
            if not play() or self._is_over:
                break
        self._rehearsal.clear_faults()
        return self._evidence()

    def _parts(self) -> Sequence[tuple[CoursePart, Callable[[], bool]]]:
        return (
            (CoursePart.QUIET, self._quiet),
            (CoursePart.NEIGHBOR, self._neighbor),
            (CoursePart.SCHEDULED, self._scheduled),
            (CoursePart.STARTED, self._started),
            (CoursePart.REBOOT, self._reboot),
            (CoursePart.GONE, self._gone),
            (CoursePart.OTHER_VERSION, self._other_version),
            (CoursePart.RESTART, self._restart),
            (CoursePart.TOO_MANY, self._too_many),
            (CoursePart.ERRORS, self._errors),
            (CoursePart.AFTERWARDS, self._afterwards),
        )

    def _evidence(self) -> Evidence:
        observer, program = self._rehearsal.observer, self._program
        requests = self._requests
        now = time.monotonic()  # after all requests, so that each request is in a part
        edges = [*self._began, (CoursePart.AFTERWARDS, now)]
        ending = None
        if program.ended is not None:
            ending = ProgramExit(at=program.ended, code=program.code or 0)
        return Evidence(
            vm=self._rehearsal.vm,
            began=program.began,
            until=now,
            patience=self._patience,
            requests=requests,
            forwarded=observer.forwarded,
            shown=[*observer.shown],
            announced=[
                AnnouncedEvent(
                    id=event.id.upper(),
                    type=event.type,
                    source=event.source,
                    resources=tuple(event.resources),
                )
                for event in self._events
            ],
            spans=[
                CourseSpan(part=part, began=began, ended=ended)
                for (part, began), (_, ended) in pairwise(edges)
            ],
            ending=ending,
            is_cut_short=(
                ending is None
                and len(self._began) < len(CoursePart)
                and now >= self._deadline
            ),
        )

    # --- parts: each returns whether the program still reacts ----------------

    def _quiet(self) -> bool:
        pace = self._pace
        if not self._wait(lambda: bool(self._polls), pace.first_request):
            return False
        if not self._wait(lambda: any(map(_is_good, self._polls)), pace.first_response):
            return False
        while (left := self._quiet_for()) and not self._is_over:
            self._wait(lambda: not self._quiet_for(), left)
        pause = longest_pause(self._polls)
        if pause is None or pause >= pace.longest_pause:
            return False
        patience = max(_PAUSES * pause, pace.min_patience)
        self._patience = min(patience, pace.max_patience)
        return True

    def _quiet_for(self) -> float:
        """Return how many more seconds to wait for the polling interval."""
        pace, times = self._pace, [poll.since for poll in self._polls]
        if len(times) >= _MIN_POLLS:
            length = pace.shortest_quiet
        else:
            length = pace.longest_quiet if len(times) > 1 else pace.longest_pause
        return max(0.0, times[0] + length - time.monotonic())

    def _neighbor(self) -> bool:
        catch_up(self._rehearsal)
        event = self._rehearsal.reboot(self._others[0])
        self._events.append(event)
        return self._wait_shown(self._shows(event)) and self._pause()

    def _scheduled(self) -> bool:
        catch_up(self._rehearsal)
        self._freeze = self._rehearsal.freeze(duration="5s")
        other = self._rehearsal.reboot(self._others[1], source="user")
        self._events += [self._freeze, other]
        return self._wait_shown(self._shows(self._freeze)) and self._wait_reaction(
            lambda: self._freeze.is_approved
        )

    def _started(self) -> bool:
        freeze = self._freeze
        if not freeze.is_approved:
            freeze.approve(self._others[0])  # starts it without moving the clock

        def has_started(shown: ShownDocument) -> bool:
            return freeze.id.upper() in shown.started

        documents = self._rehearsal.observer.shown
        seen = [shown.at for shown in documents if has_started(shown)]
        part, began = self._began[-1]
        self._began[-1] = (part, min([*seen, began]))  # if approved earlier
        return self._wait_shown(has_started) and self._pause()

    def _reboot(self) -> bool:
        self._rehearsal.advance_to_end(self._freeze)
        catch_up(self._rehearsal)
        mine = [self._rehearsal.reboot(), self._rehearsal.reboot(source="user")]
        self._events += mine
        return self._wait_shown(self._shows(mine[1])) and self._wait_reaction(
            lambda: all(event.is_approved for event in mine)
        )

    def _gone(self) -> bool:
        for event in self._events:
            if event.phase is Phase.SCHEDULED:
                event.cancel()
        self._rehearsal.advance(_AFTER_WORK)
        return self._wait_shown(lambda shown: not shown.events) and self._pause()

    def _other_version(self) -> bool:
        self._rehearsal.observer.future_since = self._rehearsal.now
        is_shown = self._wait_shown(lambda shown: FUTURE_EVENT in shown.scheduled)
        return is_shown and self._pause()

    def _restart(self) -> bool:
        self._rehearsal.observer.future_since = None
        self._rehearsal.advance(_SILENCE)
        return self._wait_shown(lambda shown: not shown.incarnation) and self._pause()

    def _too_many(self) -> bool:
        self._rehearsal.fault(FaultKind.TOO_MANY, retry_after=RETRY_AFTER)
        if not self._wait_fault(FaultKind.TOO_MANY):
            return False
        self._wait(lambda: False, self._pace.refusal)
        self._rehearsal.clear_faults()
        return True

    def _errors(self) -> bool:
        for kind in _ERRORS:
            self._rehearsal.fault(kind, count=1, on=FaultOn.READ)
            is_met = self._wait_fault(kind)
            self._rehearsal.clear_faults()
            if not is_met or not self._afterwards():
                return False
        return True

    def _afterwards(self) -> bool:
        """Wait until a new poll succeeds; return whether a new poll succeeded."""
        since = time.monotonic()
        return self._wait(
            lambda: any(_is_good(e) and e.since >= since for e in self._polls),
            self._pace.max_patience,
        )

    # --- the program ---------------------------------------------------------

    @property
    def _requests(self) -> Sequence[RequestRecord]:
        vm = self._rehearsal.vm
        return [request for request in self._rehearsal.requests if request.vm == vm]

    @property
    def _polls(self) -> Sequence[RequestRecord]:
        return polls_of(self._requests)

    @property
    def _is_over(self) -> bool:
        return not self._program.is_running or time.monotonic() >= self._deadline

    @property
    def _others(self) -> Sequence[str]:
        """The other VMs in the program's group."""
        rehearsal = self._rehearsal
        return [name for name in rehearsal.fleet.vms if name != rehearsal.vm]

    def _shows(self, event: RehearsedEvent) -> Callable[[ShownDocument], bool]:
        return lambda shown: event.id.upper() in shown.events

    def _wait_shown(self, is_it: Callable[[ShownDocument], bool]) -> bool:
        """Wait until the program receives the document that `is_it` accepts."""
        since, shown = self._began[-1][1], self._rehearsal.observer.shown
        return self._wait(
            lambda: any(e.at >= since and is_it(e) for e in [*shown]), self._patience
        )

    def _wait_fault(self, kind: FaultKind) -> bool:
        """Wait until a fault of this kind affects one of the program's polls."""
        since = self._began[-1][1]
        return self._wait(
            lambda: any(e.fault == kind and e.at >= since for e in self._polls),
            self._pace.max_patience,
        )

    def _wait_reaction(self, has_reacted: Callable[[], bool]) -> bool:
        """Wait until the program has reacted to a document or polls again.

        Return whether it did either. A program that prepares in its polling loop polls
        again when it has finished.
        """
        since = time.monotonic()
        if self._wait(has_reacted, self._pace.moment):
            return True
        return self._wait(
            lambda: has_reacted() or any(poll.since >= since for poll in self._polls),
            self._patience,
        )

    def _pause(self) -> bool:
        """Wait a moment so that the program can react, and return True."""
        self._wait(lambda: False, self._pace.moment)
        return True

    def _wait(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Wait until `condition` holds or the program ends; return whether it holds."""
        left = max(0.0, self._deadline - time.monotonic())
        self._rehearsal.observer.wait(
            lambda: condition() or not self._program.is_running, min(seconds, left)
        )
        return condition()


def _is_good(request: RequestRecord) -> bool:
    return request.status in (200, 304) and request.fault is None
