"""What a client gives, on its way through other programs."""

import copy
import pickle

import pytest

from forewarn.errors import Closed, Lost, Misunderstood, Refused, Unreachable


def test_a_refusal_keeps_what_it_carries_on_its_way_to_another_process() -> None:
    refusal = Refused("too often", 429, retry_after=3.0)
    for each in (copy.copy(refusal), pickle.loads(pickle.dumps(refusal))):
        assert (str(each), each.status, each.retry_after) == ("too often", 429, 3.0)


@pytest.mark.parametrize("kind", [Closed, Lost, Misunderstood, Unreachable])
def test_so_does_every_other_error(kind: type[Exception]) -> None:
    there = pickle.loads(pickle.dumps(kind("why")))
    assert type(there) is kind
    assert str(there) == "why"
