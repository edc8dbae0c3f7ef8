"""Builders for the observed behavior of a program."""

from collections.abc import Sequence

from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.scenario.conduct import ProgramApproval, ProgramConduct


def a_conduct(
    *,
    arrivals: Sequence[float] | None = None,
    requests: Sequence[RequestRecord] = (),
    until: float = 10.0,
    outages: Sequence[tuple[float, float]] = (),
    approvals: Sequence[ProgramApproval] = (),
    has_ended: bool = False,
    code: int | None = None,
) -> ProgramConduct:
    """Make the behavior of a program that started at 0."""
    return ProgramConduct(
        vm="web-0",
        began=0.0,
        until=until,
        outages=outages,
        arrivals=[request.since for request in requests]
        if arrivals is None
        else arrivals,
        requests=requests,
        approvals=approvals,
        has_ended=has_ended,
        code=code,
    )


def an_approval(
    called: str | None = "reboot", resources: tuple[str, ...] = ("web-0",)
) -> ProgramApproval:
    return ProgramApproval(event="E0", name=called, resources=resources)
