"""Identity of this VM: its name, and its rules for an event."""

from collections.abc import Sequence

from forewarn.agent import names
from forewarn.agent.clock import ServiceClock
from forewarn.agent.lives import Course
from forewarn.agent.matching import Situation, judge
from forewarn.agent.plan import Plan, Rule
from forewarn.agent.sighting import Decision
from forewarn.protocol.types import Document, ScheduledEvent


class Myself:
    """This VM's name, as far as it is known, and its rules."""

    def __init__(self, plan: Plan, clock: ServiceClock, host_name: str) -> None:
        """Use the plan's name, else the service's name, else `host_name`."""
        self._plan = plan
        self._clock = clock
        self._host_name = host_name
        self._compute_name: str | None = None
        self._identity = self._identify()

    @property
    def name(self) -> str:
        """The name of this VM; empty if it is unknown."""
        return self._identity.name or ""

    def learn(self, compute_name: str | None) -> str:
        """Store the name from /metadata/instance; return the name that is used."""
        self._compute_name = compute_name or self._compute_name
        self._identity = self._identify()
        return self.name

    def position(self, resources: Sequence[str]) -> int | None:
        """Return this VM's index in `resources`; None if it is not there."""
        return self._identity.position(resources)

    def judge(
        self, event: ScheduledEvent, is_mine: bool, notice: float | None
    ) -> Decision:
        """Find the rule for an event."""
        situation = Situation(is_mine=is_mine, notice=notice, now=self._clock.now())
        verdict = judge(self._plan.rules, event, situation)
        course = None if verdict.rule is None else _course(verdict.rule)
        return Decision(course=course, why=verdict.why)

    def mismatch(self, document: Document | None) -> str | None:
        """Explain why events of this VM may be missed; None if its names match."""
        return names.mismatch(
            explicit=self._plan.name,
            compute_name=self._compute_name,
            host_name=self._host_name,
            document=document,
        )

    def _identify(self) -> names.Identity:
        return names.identify(
            explicit=self._plan.name,
            compute_name=self._compute_name,
            host_name=self._host_name,
        )


def _course(rule: Rule) -> Course:
    return Course(
        rule=rule.name,
        hooks=rule.hooks,
        parallel=rule.parallel,
        approve=rule.approve,
        together=rule.together,
        ready=rule.ready,
    )
