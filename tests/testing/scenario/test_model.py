"""Scenario steps in words, as the table of results shows them."""

import pytest

from forewarn.testing.scenario.model import (
    CancelStep,
    CompleteStep,
    RecoverStep,
    Step,
    describe_step,
)


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (CancelStep(event="patch"), "cancel patch"),
        (CompleteStep(event="patch"), "complete patch"),
        (RecoverStep(host="host-a"), "host-a is well again"),
    ],
)
def test_a_step_is_described_in_the_words_of_the_file(step: Step, text: str) -> None:
    assert describe_step(step, "web-0") == text
