"""Property test: the rules hold for any course of an event, its hooks and the agent."""

from dataclasses import dataclass, field, replace
from itertools import count

from hypothesis import given
from hypothesis import strategies as st
from tests.agent.support.events import (
    NOON,
    SECOND,
    an_event,
    an_observation,
)

from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, Rule
from forewarn.agent.events import progress
from forewarn.agent.events.observation import observe
from forewarn.agent.events.progress import (
    BeginHook,
    CancelHook,
    EventContext,
    PostApproval,
    advance,
)
from forewarn.agent.events.state import (
    EventState,
    HookOutcome,
    HookRun,
    LastStatus,
)
from forewarn.protocol.types import Document, EventStatus

HOOKS = {
    HookPoint.PREPARE: ("drain", "flush"),
    HookPoint.STARTED: ("flush",),
    HookPoint.WITHOUT_NOTICE: ("alarm",),
    HookPoint.RECOVER: ("fill", "tell"),
    HookPoint.UNDO: ("fill",),
}

#: A document, the end of a hook, the death of the agent, or a reboot.
HAPPENINGS = st.one_of(
    st.sampled_from(["scheduled", "started", "absent", "die", "reboot"]),
    st.tuples(st.integers(0, 3), st.sampled_from(["done", "failed", "cut"])),
)


@dataclass
class EventSimulation:
    """One event, its stored state, and the running hooks."""

    rule: Rule
    state: EventState | None = None
    running: dict[str, HookRun] = field(default_factory=dict)
    ended: set[tuple[HookPoint, str]] = field(default_factory=set)  # as stored
    lost: set[tuple[HookPoint, str]] = field(default_factory=set)
    boot: int = 0
    seconds: int = 0
    tokens: count = field(default_factory=count)  # type: ignore[type-arg]

    def happen(self, happening: object) -> None:
        self.seconds += 1
        match happening:
            case "die" | "reboot":
                self.boot += happening == "reboot"
                runs = () if self.state is None else self.state.runs
                mine = [run for run in runs if run.token in self.running]
                self.lost |= {(run.step, run.hook) for run in mine}
                self.running.clear()
            case (int(number), str(outcome)):
                self._end(number, HookOutcome(outcome))
            case _:
                self._show(str(happening))
        self._go_on()

    def _show(self, what: str) -> None:
        words = {"scheduled": EventStatus.SCHEDULED, "started": EventStatus.STARTED}
        events = [an_event(status=words[what])] if what in words else []
        observation = an_observation(
            now=NOON + self.seconds * SECOND,
            boot=f"boot-{self.boot}",
            rules=[self.rule],
        )
        states = {} if self.state is None else {"E1": self.state}
        document = Document(incarnation=self.seconds, events=tuple(events))
        for state in observe(states, document, observation).states:
            if self.state is None or (self.state.seen is LastStatus.GONE and events):
                self.ended, self.lost = set(), set()  # a new event, or announced again
            self.state = state

    def _end(self, number: int, outcome: HookOutcome) -> None:
        if not self.running or self.state is None:
            return
        token = sorted(self.running)[number % len(self.running)]
        run = self.running.pop(token)
        now = NOON + self.seconds * SECOND
        before = self.state
        self.state = progress.end_hook(
            self.state, replace(run, outcome=outcome, ended_at=now), now
        ).state
        if before != self.state:
            self.ended.add((run.step, run.hook))

    def _go_on(self) -> None:
        for _ in range(9):  # one hook may start another; then nothing changes
            if self.state is None or not self._advance(self.state):
                return
        raise AssertionError("it never settles")

    def _advance(self, state: EventState) -> bool:
        context = EventContext(
            now=NOON + self.seconds * SECOND,
            running=frozenset(self.running),
            token=lambda: f"t{next(self.tokens):04}",
        )
        step = advance(state, context)
        for order in step.orders:
            self._check(step.state, order)
        changed = step.state != state
        self.state = step.state
        return changed

    def _check(self, state: EventState, order: object) -> None:
        match order:
            case BeginHook(run=run):
                name = (run.step, run.hook)
                assert name not in self.ended, "a finished hook is started again"
                assert (run.times > 1) == (name in self.lost)
                steps = {other.step for other in self.running.values()}
                assert steps <= {run.step}, "two steps at the same time"
                self.running[run.token] = run
            case CancelHook(token=token):
                assert token in self.running
            case PostApproval():
                assert state.seen is LastStatus.SCHEDULED
                if self.rule.approve is ApprovalPolicy.AFTER_HOOKS:
                    done = {
                        run.hook
                        for run in state.runs
                        if (run.step, run.outcome)
                        == (HookPoint.PREPARE, HookOutcome.DONE)
                    }
                    assert done == {"drain", "flush"}, "not prepared"
            case _:
                raise AssertionError(order)


@given(
    happenings=st.lists(HAPPENINGS, max_size=30),
    parallel=st.booleans(),
    approve=st.sampled_from(ApprovalPolicy),
)
def test_the_rules_hold_whatever_happens(
    happenings: list[object], parallel: bool, approve: ApprovalPolicy
) -> None:
    world = EventSimulation(
        Rule(name="all", hooks=HOOKS, parallel=parallel, approve=approve)
    )
    for happening in happenings:
        world.happen(happening)
    for _ in range(20):
        world.happen("absent")
        world.happen((0, "done"))
    assert world.state is None or world.state.over_at is not None
