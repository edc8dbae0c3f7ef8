"""Builders for events and their states; every argument is optional."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from forewarn.agent.course import Circumstances
from forewarn.agent.lives import UNTOUCHED, Course, Impact, Life, Outcome, Run, Seen
from forewarn.agent.plan import Approve, Step, Together
from forewarn.agent.sighting import Decision, Sight
from forewarn.protocol.types import EventStatus, EventType, ScheduledEvent

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)

PREPARE_AND_UNDO: Mapping[Step, tuple[str, ...]] = {
    Step.PREPARE: ("drain",),
    Step.STARTED: ("tell",),
    Step.WITHOUT_NOTICE: ("alarm",),
    Step.RECOVER: ("fill",),
    Step.UNDO: ("resume",),
}


def counting() -> Callable[[], str]:
    numbers = count(1)
    return lambda: f"run-{next(numbers)}"


def an_event(
    event_id: str = "E1",
    *,
    status: str = EventStatus.SCHEDULED,
    type: str = EventType.REBOOT,
    resources: Sequence[str] = ("web-0",),
    not_before: datetime | None = NOON + 15 * MINUTE,
) -> ScheduledEvent:
    return ScheduledEvent(
        id=event_id,
        type=type,
        status=status,
        resources=tuple(resources),
        not_before=None if status == EventStatus.STARTED else not_before,
    )


def a_course(
    *,
    hooks: Mapping[Step, tuple[str, ...]] = PREPARE_AND_UNDO,
    parallel: bool = False,
    approve: Approve = Approve.AFTER_HOOKS,
    together: Together = Together.LEADER,
    ready: str | None = None,
) -> Course:
    return Course(
        rule="all",
        hooks=hooks,
        parallel=parallel,
        approve=approve,
        together=together,
        ready=ready,
    )


def a_life(
    *,
    event: ScheduledEvent | None = None,
    seen: Seen = Seen.SCHEDULED,
    course: Course | None = None,
    runs: tuple[Run, ...] = (),
    is_leader: bool = True,
    is_sudden: bool = False,
    started_at: datetime | None = None,
    boot: str = "boot-1",
    posted_at: datetime | None = None,
    approved_at: datetime | None = None,
) -> Life:
    return Life(
        event=event or an_event(),
        seen=seen,
        first_at=NOON,
        last_at=NOON,
        notice=900.0,
        is_sudden=is_sudden,
        is_mine=True,
        is_leader=is_leader,
        boot=boot,
        course=course or a_course(),
        runs=runs,
        started_at=started_at,
        posted_at=posted_at,
        approved_at=approved_at,
    )


def a_run(
    hook: str = "drain",
    *,
    step: Step = Step.PREPARE,
    outcome: Outcome = Outcome.DONE,
    token: str = "run-0",
    times: int = 1,
) -> Run:
    return Run(
        step=step,
        hook=hook,
        token=token,
        begun_at=NOON,
        times=times,
        outcome=outcome,
        ended_at=None if outcome is Outcome.RUNNING else NOON + SECOND,
    )


def about(
    *,
    now: datetime = NOON,
    running: Sequence[str] = (),
    reserve: float = 5.0,
    is_dry: bool = False,
) -> Circumstances:
    return Circumstances(
        now=now,
        running=frozenset(running),
        token=counting(),
        reserve=reserve,
        is_dry=is_dry,
    )


def a_sight(
    *,
    now: datetime = NOON,
    boot: str = "boot-1",
    name: str = "web-0",
    course: Course | None = None,
    felt: Impact = UNTOUCHED,
    was_away: bool = False,
) -> Sight:
    def position(resources: Sequence[str]) -> int | None:
        return resources.index(name) if name in resources else None

    decision = Decision(course=course or a_course(), why=("it matches",))
    return Sight(
        now=now,
        boot=boot,
        position=position,
        judge=lambda *_: decision,
        felt=felt,
        was_away=was_away,
    )
