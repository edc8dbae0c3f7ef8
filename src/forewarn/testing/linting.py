"""Lint run: play all parts against a program and collect the evidence.

A part ends a moment after the program has received what the part is about. A program
that ends or stops polling ends the lint. The service's clock moves only where a part
moves it.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from forewarn.testing.attending import Attending
from forewarn.testing.course import RETRY_AFTER, Course, Pace
from forewarn.testing.evidence import Ending, Evidence, Part
from forewarn.testing.findings import Finding
from forewarn.testing.lint import judge
from forewarn.testing.onlooker import Onlooker
from forewarn.testing.programs import Program
from forewarn.testing.rehearsal import Rehearsal

VM = "vm-0"  # the VM whose requests the program sends
OTHERS = ("vm-1", "vm-2")

#: Enabled on demand, so that the incarnation restarts after a day without polls.
_FLEET: dict[str, object] = {
    "hosts": [{"name": f"host-{number}"} for number in range(3)],
    "groups": [{"name": "lint", "kind": "availability-set"}],
    "vms": [
        {"name": vm, "group": "lint", "host": f"host-{number}", "update_domain": number}
        for number, vm in enumerate((VM, *OTHERS))
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The program to lint, and the options."""

    command: Sequence[str]
    metadata: str = "127.0.0.1:0"
    timeout: float = 60.0  # seconds of real time for the whole lint
    output: str | None = None  # file for the program's output; None to keep its end
    ignored: Sequence[str] = ()  # ids of rules to skip
    pace: Pace = field(default_factory=Pace)


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """Result of a lint."""

    findings: Sequence[Finding]
    evidence: Evidence
    seconds: float  # of real time
    output: str  # the end of the program's output


class Progress(Protocol):
    """Receives the progress of a lint."""

    def begin(self, part: Part) -> None:
        """Show that a part begins."""


def lint(trial: Trial, progress: Progress) -> Linted:
    """Lint the program of `trial` and return the findings."""
    began = time.monotonic()
    with Rehearsal(fleet=_FLEET, vm=VM, metadata=trial.metadata) as rehearsal:
        plane, watching = rehearsal.system.plane, rehearsal.watching
        onlooker = Onlooker(watching, plane.desk.directory, VM)
        plane.witness = onlooker
        program = Program(
            trial.command,
            rehearsal.environment,
            output=trial.output,
            on_end=watching.ring,
        )
        with program:
            attending = Attending(
                rehearsal,
                onlooker,
                program,
                deadline=began + trial.timeout,
                patience=trial.pace.least_patience,
            )
            course = Course(rehearsal, attending, trial.pace, progress.begin)
            course.play()
            evidence = _evidence(course, attending, program)
    return Linted(
        findings=[e for e in judge(evidence) if e.rule.id not in trial.ignored],
        evidence=evidence,
        seconds=time.monotonic() - began,
        output=program.written,
    )


def _evidence(course: Course, attending: Attending, program: Program) -> Evidence:
    ended, code = program.ended, program.code
    return Evidence(
        vm=VM,
        began=program.began,
        until=time.monotonic(),
        patience=attending.patience,
        retry_after=RETRY_AFTER,
        requests=attending.requests,
        forwarded=attending.onlooker.forwarded,
        shown=[*attending.onlooker.shown],
        announced=course.announced,
        spans=course.spans,
        ending=None if ended is None else Ending(at=ended, code=code or 0),
    )
