"""Operations on a single VM in a rehearsal, announced as Azure would."""

from typing import Any

import pytest

from forewarn.client import Client
from forewarn.errors import InvalidInput
from forewarn.testing.rehearsal.options import OperationName
from forewarn.testing.rehearsal.rehearsal import Rehearsal


@pytest.mark.parametrize(
    ("operation", "vm", "announced"),
    [
        ("restart", "web-0", ("Reboot", "User")),
        ("redeploy", "web-0", ("Redeploy", "User")),
        ("evict", "batch_0", ("Preempt", "Platform")),
    ],
)
def test_an_operation_has_its_own_type_and_source(
    operation: OperationName, vm: str, announced: tuple[str, str]
) -> None:
    with Rehearsal() as rehearsal:
        rehearsal.operate(operation, vm)
        with Client(rehearsal.endpoint_of(vm)) as client:
            (event,) = client.document().events
    assert (event.type, event.source) == announced


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"notce": "1m"},
            "unknown option 'notce'; did you mean \"notice\"",
        ),
        ({"source": "me"}, 'source: expected one of "Platform", "User", not "me"'),
    ],
)
def test_invalid_option_is_refused_with_a_message(
    options: dict[str, Any], message: str
) -> None:
    with Rehearsal() as rehearsal, pytest.raises(InvalidInput, match=message):
        rehearsal.reboot("web-0", **options)


def test_invalid_operation_is_refused_with_a_message() -> None:
    several: Any = ["web-0", "web-1"]
    misspelled: Any = "rebot"
    with Rehearsal() as rehearsal:
        with pytest.raises(InvalidInput, match="operation: expected one of"):
            rehearsal.operate(misspelled, "web-0")
        with pytest.raises(InvalidInput, match="is not the name of a VM"):
            rehearsal.reboot(several)
        with pytest.raises(InvalidInput, match="15 minutes of notice; for less, add"):
            rehearsal.reboot(notice="1m")
        with pytest.raises(InvalidInput, match="is not an event; pass what reboot"):
            rehearsal.advance_to_end(several)
        with pytest.raises(InvalidInput, match="an outage can last at most 36500 days"):
            rehearsal.outage("999999999d")
