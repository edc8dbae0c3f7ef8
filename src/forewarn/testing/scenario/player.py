"""The scenario player, which runs a scenario as fast as the program allows.

1. The service's clock is paused while the player waits for the program. The result
   therefore does not depend on the machine's speed.
2. The player waits for the program's first request before running any step. Only faults
   at the start of the scenario are set before that request.
3. The service's clock shows the machine's time when the steps begin, so that NotBefore
   is not in the past for a program that started slowly.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Protocol

from forewarn.errors import ForewarnError
from forewarn.testing.rehearsal.rehearsal import Rehearsal
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario.conduct import judge_conduct, why_unseen
from forewarn.testing.scenario.model import describe_step
from forewarn.testing.scenario.results import (
    ScenarioResult,
    StepResult,
    StepVerdict,
    transcript,
)
from forewarn.testing.scenario.stage import ScenarioStage
from forewarn.testing.scenario.steps import await_expectation, carry_out

_FIRST_REQUEST = 30.0  # seconds of real time until a program's first request


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRun:
    """Options for playing a scenario."""

    command: Sequence[str]
    seed: int | None = None
    metadata: str = "127.0.0.1:0"
    timeout: float = 300.0  # seconds of real time for the whole scenario
    output: str | None = None  # file for the program's output; None: keep only its end


class ScenarioProgress(Protocol):
    """Receives the progress of a scenario."""

    def begin(self, number: int, what: str) -> None:
        """Show that a step is starting."""

    def end(self, result: StepResult) -> None:
        """Show the result of a step."""


def play(
    scenario: s.Scenario, run: ScenarioRun, progress: ScenarioProgress
) -> ScenarioResult:
    """Play `scenario` to its end or until a step fails."""
    began = time.monotonic()
    with Rehearsal(
        fleet=scenario.fleet,
        vm=scenario.vm,
        seed=run.seed,
        metadata=run.metadata,
    ) as rehearsal:
        marks = _marks(scenario)
        program = rehearsal.run(*run.command, output=run.output, marks=marks)
        stage = ScenarioStage(rehearsal, program, began + run.timeout)
        results = _Player(stage, progress).play(scenario)
        stage.settle()
        entries = rehearsal.journal()
        timeline = rehearsal.timeline().splitlines()
    played = (scenario.name, run.seed, results, entries, stage.start)
    return ScenarioResult(
        scenario=scenario,
        results=results,
        seconds=time.monotonic() - began,
        timeline=timeline,
        output=program.written,
        transcript=[*transcript(*played)],
    )


def _marks(scenario: s.Scenario) -> Sequence[str]:
    """Return the marks that `scenario` expects, which the program may also print."""
    names = (
        name
        for step in scenario.steps
        if isinstance(step, s.ExpectStep)
        for name in (step.after_mark, step.mark)
        if name is not None
    )
    return [*dict.fromkeys(names)]


class _Player:
    def __init__(self, stage: ScenarioStage, progress: ScenarioProgress) -> None:
        self._stage = stage
        self._progress = progress
        self._results: list[StepResult] = []
        self._has_failed = False

    def play(self, scenario: s.Scenario) -> Sequence[StepResult]:
        steps = [*enumerate(scenario.steps, start=1)]
        early = [*takewhile(lambda item: isinstance(item[1], s.SetFaultStep), steps)]
        for number, step in early:
            self._step(number, step)
        with self._stage.program:
            if not early:
                what = f"{self._stage.vm} sends its first request"
                self._do(0, what, StepVerdict.PASSED, self._first_request)
            self._stage.set_clock()
            for number, step in steps[len(early) :]:
                self._step(number, step)
            conduct = self._stage.conduct()
        for item in judge_conduct(scenario.throughout, conduct):
            self._end(self._as_far_as_it_went(item))
        return [*self._results]

    def _as_far_as_it_went(self, result: StepResult) -> StepResult:
        """Replace "passed" with "not reached" if the scenario stopped early."""
        if self._has_failed and result.verdict is StepVerdict.PASSED:
            return replace(result, verdict=StepVerdict.NOT_REACHED)
        return result

    def _step(self, number: int, step: s.Step) -> None:
        what = describe_step(step, self._stage.vm)
        if isinstance(step, s.ExpectStep):
            met = partial(await_expectation, self._stage, step)
            self._do(number, what, StepVerdict.PASSED, met)
        else:
            done = partial(carry_out, self._stage, step)
            self._do(number, what, StepVerdict.DONE, done)

    def _do(
        self, number: int, what: str, good: StepVerdict, work: Callable[[], str | None]
    ) -> None:
        if self._has_failed:
            self._end(
                StepResult(number=number, what=what, verdict=StepVerdict.NOT_REACHED)
            )
            return
        self._progress.begin(number, what)
        began = time.monotonic()
        try:
            reason = work()
        except ForewarnError as error:
            reason = str(error)
        if time.monotonic() > self._stage.deadline:
            reason = "the rehearsal ran out of time" + (f": {reason}" if reason else "")
        self._has_failed = reason is not None
        self._end(
            StepResult(
                number=number,
                what=what,
                verdict=good if reason is None else StepVerdict.FAILED,
                reason=reason,
                seconds=time.monotonic() - began,
            )
        )

    def _end(self, result: StepResult) -> None:
        self._results.append(result)
        self._progress.end(result)

    def _first_request(self) -> str | None:
        stage = self._stage

        def has_asked() -> bool:
            return bool(stage.observer.arrivals_of(stage.vm))

        if stage.wait_for_program(has_asked, _FIRST_REQUEST):
            return None
        return why_unseen(stage.conduct(), stage.program.began)
