"""Builders for events and their states; every argument is optional."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    HookPoint,
    Rule,
    RuleScope,
    SharedApproval,
)
from forewarn.agent.events.observation import Observation
from forewarn.agent.events.progress import EventContext
from forewarn.agent.events.state import (
    NO_IMPACT,
    EventState,
    HookOutcome,
    HookRun,
    Impact,
    LastStatus,
    ResponsePlan,
)
from forewarn.agent.identity import VmIdentity
from forewarn.protocol.types import EventStatus, EventType, ScheduledEvent

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MINUTE = timedelta(minutes=1)

PREPARE_AND_UNDO: Mapping[HookPoint, tuple[str, ...]] = {
    HookPoint.PREPARE: ("drain",),
    HookPoint.STARTED: ("tell",),
    HookPoint.WITHOUT_NOTICE: ("alarm",),
    HookPoint.RECOVER: ("fill",),
    HookPoint.UNDO: ("resume",),
}

EVERY_EVENT = Rule(name="all", concerns=RuleScope.ANYONE, hooks=PREPARE_AND_UNDO)


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


def a_response_plan(
    *,
    hooks: Mapping[HookPoint, tuple[str, ...]] = PREPARE_AND_UNDO,
    parallel: bool = False,
    approve: ApprovalPolicy = ApprovalPolicy.AFTER_HOOKS,
    together: SharedApproval = SharedApproval.LEADER,
    ready: str | None = None,
) -> ResponsePlan:
    return ResponsePlan(
        rule="all",
        hooks=hooks,
        parallel=parallel,
        approve=approve,
        together=together,
        ready=ready,
    )


def a_state(
    *,
    event: ScheduledEvent | None = None,
    seen: LastStatus = LastStatus.SCHEDULED,
    course: ResponsePlan | None = None,
    runs: tuple[HookRun, ...] = (),
    is_leader: bool = True,
    is_sudden: bool = False,
    started_at: datetime | None = None,
    boot: str = "boot-1",
    posted_at: datetime | None = None,
    approved_at: datetime | None = None,
) -> EventState:
    return EventState(
        event=event or an_event(),
        seen=seen,
        first_at=NOON,
        last_at=NOON,
        notice=900.0,
        is_sudden=is_sudden,
        is_mine=True,
        is_leader=is_leader,
        boot=boot,
        course=course or a_response_plan(),
        runs=runs,
        started_at=started_at,
        posted_at=posted_at,
        approved_at=approved_at,
    )


def a_run(
    hook: str = "drain",
    *,
    step: HookPoint = HookPoint.PREPARE,
    outcome: HookOutcome = HookOutcome.DONE,
    token: str = "run-0",
    times: int = 1,
) -> HookRun:
    return HookRun(
        step=step,
        hook=hook,
        token=token,
        begun_at=NOON,
        times=times,
        outcome=outcome,
        ended_at=None if outcome is HookOutcome.RUNNING else NOON + SECOND,
    )


def context(
    *,
    now: datetime = NOON,
    running: Sequence[str] = (),
    reserve: float = 5.0,
    slots: int = 100,
    is_dry: bool = False,
) -> EventContext:
    return EventContext(
        now=now,
        running=frozenset(running),
        token=counting(),
        reserve=reserve,
        slots=slots,
        is_dry=is_dry,
    )


def an_observation(
    *,
    now: datetime = NOON,
    boot: str = "boot-1",
    name: str = "web-0",
    rules: Sequence[Rule] = (EVERY_EVENT,),
    impact: Impact = NO_IMPACT,
    was_away: bool = False,
) -> Observation:
    return Observation(
        now=now,
        boot=boot,
        identity=VmIdentity(host_name=name),
        rules=rules,
        impact=impact,
        was_away=was_away,
    )
