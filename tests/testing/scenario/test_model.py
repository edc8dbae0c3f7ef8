"""Descriptions of scenario steps, as the table of results shows them."""

import pytest

from forewarn.core.faults import Fault, FaultKind
from forewarn.testing.scenario.model import (
    CancelStep,
    ClearFaultsStep,
    CompleteStep,
    RecoverStep,
    SetFaultStep,
    Step,
    describe_step,
)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (CancelStep(event="patch"), "cancel patch"),
        (CompleteStep(event="patch"), "complete patch"),
        (RecoverStep(host="host-a"), "host-a recovers"),
        (ClearFaultsStep(), "clear all faults"),
        (SetFaultStep(fault=Fault(kind=FaultKind.GONE)), "inject fault 410"),
        (
            SetFaultStep(
                fault=Fault(
                    kind=FaultKind.SLOW,
                    count=3,
                    probability=0.5,
                    duration=2,
                    vms=("web-0",),
                )
            ),
            "inject fault slow (3 requests, probability 0.5, for 2s, web-0)",
        ),
    ],
)
def test_a_step_is_described_briefly(step: Step, text: str) -> None:
    assert describe_step(step, "web-0") == text
