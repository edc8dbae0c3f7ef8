"""What is done to one VM in a rehearsal is announced as it is on Azure."""

import pytest

from forewarn.client import Client
from forewarn.testing.rehearsal import Rehearsal


@pytest.mark.parametrize(
    ("operation", "vm", "announced"),
    [
        ("restart", "web-0", ("Reboot", "User")),
        ("redeploy", "web-0", ("Redeploy", "User")),
        ("evict", "batch_0", ("Preempt", "Platform")),
    ],
)
def test_an_operation_has_its_own_type_and_source(
    operation: str, vm: str, announced: tuple[str, str]
) -> None:
    with Rehearsal() as rehearsal:
        rehearsal.operate(operation, vm)
        with Client(rehearsal.endpoint_of(vm)) as client:
            (event,) = client.document().events
    assert (event.type, event.source) == announced
