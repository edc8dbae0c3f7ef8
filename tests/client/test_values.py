"""Errors of the client: copying and pickling."""

import copy
import pickle

import pytest

from forewarn.errors import ClientClosed, Lost, Misunderstood, Refused, Unreachable


def test_a_refusal_survives_copying_and_pickling() -> None:
    refusal = Refused("too often", 429, retry_after=3.0)
    for restored in (copy.copy(refusal), pickle.loads(pickle.dumps(refusal))):
        assert (str(restored), restored.status, restored.retry_after) == (
            "too often",
            429,
            3.0,
        )


@pytest.mark.parametrize("kind", [ClientClosed, Lost, Misunderstood, Unreachable])
def test_other_errors_survive_pickling(kind: type[Exception]) -> None:
    there = pickle.loads(pickle.dumps(kind("why")))
    assert type(there) is kind
    assert str(there) == "why"
