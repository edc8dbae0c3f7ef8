"""A context manager that runs a rehearsal in a script or unittest."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypedDict, Unpack

from forewarn.testing.rehearsal.options import FleetSource
from forewarn.testing.rehearsal.rehearsal import Rehearsal


class RehearsalArguments(TypedDict, total=False):
    """The arguments of a rehearsal."""

    fleet: FleetSource
    vms: Sequence[str]
    vm: str | None
    seed: int | None
    metadata: str
    settings: Mapping[str, object] | None


@contextmanager
def scheduled_events(**arguments: Unpack[RehearsalArguments]) -> Iterator[Rehearsal]:
    """Run a rehearsal until the block ends, with its endpoint in `os.environ`.

    Unlike `Rehearsal`, this changes the environment of the whole process.
    """
    with Rehearsal(**arguments) as rehearsal, _set(rehearsal.environment):
        yield rehearsal


@contextmanager
def _set(environment: Mapping[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
