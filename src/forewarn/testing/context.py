"""A context manager that runs a rehearsal in a script or unittest."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TypedDict, Unpack

from forewarn.testing.rehearsal.failures import error_at_caller
from forewarn.testing.rehearsal.options import FleetSource, check_keys
from forewarn.testing.rehearsal.rehearsal import Rehearsal


class RehearsalArguments(TypedDict, total=False):
    """The arguments of a rehearsal."""

    fleet: FleetSource
    vms: Sequence[str]
    vm: str | None
    seed: int | None
    metadata: str
    settings: Mapping[str, object] | None


@error_at_caller
def scheduled_events(
    **arguments: Unpack[RehearsalArguments],
) -> AbstractContextManager[Rehearsal]:
    """Run a rehearsal until the block ends, with its endpoint in `os.environ`.

    Unlike `Rehearsal`, this changes the environment of the whole process.
    """
    check_keys(arguments, RehearsalArguments)
    return _open(Rehearsal(**arguments))


@contextmanager
def _open(rehearsal: Rehearsal) -> Iterator[Rehearsal]:
    with rehearsal, _set(rehearsal.environment):
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
