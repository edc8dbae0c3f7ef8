"""pytest plugin with the fixtures `scheduled_events` and `make_scheduled_events`.

pytest imports this module in every run, so everything else is imported when needed.
"""

from collections.abc import Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from typing import Unpack

    from forewarn.testing.context import RehearsalArguments
    from forewarn.testing.rehearsal.rehearsal import Rehearsal

_MARKER = "scheduled_events"
_SECTION = "scheduled events"
_HELP = (
    f"{_MARKER}(fleet=None, vms=(), vm=None, seed=None, settings=None): configure"
    " the fixture `scheduled_events`: a fleet (a file next to the test, or tables)"
    " or the VMs of one group, the VM on which the program runs, and a seed for"
    " event IDs"
)

_rehearsals = pytest.StashKey[list["Rehearsal"]]()


class MakeScheduledEvents(Protocol):
    """The type of the fixture `make_scheduled_events`."""

    def __call__(self, **arguments: "Unpack[RehearsalArguments]") -> "Rehearsal":
        """Start a rehearsal, which stops after the test."""


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _HELP)


@pytest.fixture
def make_scheduled_events(
    request: pytest.FixtureRequest,
) -> Iterator[MakeScheduledEvents]:
    """Return a function that starts rehearsals, all of which stop after the test.

    The function accepts the marker's arguments. Environment variables are not set.
    """
    with ExitStack() as cleanup:

        def make(**arguments: "Unpack[RehearsalArguments]") -> "Rehearsal":
            return _open(request, cleanup, {**arguments})

        yield make


@pytest.fixture
def scheduled_events(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> "Iterator[Rehearsal]":
    """Start a service for the test, with a clock that the test controls.

    FOREWARN_ENDPOINT contains its address. The `scheduled_events` marker configures it.
    """
    marker = request.node.get_closest_marker(_MARKER)
    if marker is not None and marker.args:
        why = (
            f"the {_MARKER} marker accepts only keyword arguments, such as vms=['a',"
            " 'b']"
        )
        pytest.fail(why, pytrace=False)
    with ExitStack() as cleanup:
        rehearsal = _open(request, cleanup, marker.kwargs if marker else {})
        for name, value in rehearsal.environment.items():
            monkeypatch.setenv(name, value)
        yield rehearsal


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add what happened in all rehearsals to the report of a failed test."""
    from forewarn.errors import ForewarnError

    report = yield
    if report.failed and call.excinfo is not None:
        for rehearsal in item.stash.get(_rehearsals, []):
            with suppress(ForewarnError):  # the test's own failure matters more
                if text := rehearsal.explanation(call.excinfo.value):
                    report.sections.append((_SECTION, text))
    return report


def _open(
    request: pytest.FixtureRequest, cleanup: ExitStack, arguments: dict[str, object]
) -> "Rehearsal":
    from forewarn.errors import ForewarnError

    fleet = arguments.get("fleet")
    if isinstance(fleet, str | Path):
        arguments = {**arguments, "fleet": request.path.parent / fleet}
    try:
        from forewarn.testing import Rehearsal
        from forewarn.testing.context import RehearsalArguments
        from forewarn.testing.rehearsal.options import check_keys

        check_keys(arguments, RehearsalArguments)
        rehearsal = Rehearsal(**arguments)  # type: ignore[arg-type]  # a marker may hold anything
        cleanup.enter_context(rehearsal)
    except (ImportError, ForewarnError) as error:
        raise pytest.fail.Exception(f"{_MARKER}: {error}", pytrace=False) from None
    rehearsals = request.node.stash.setdefault(_rehearsals, [])
    rehearsals.append(rehearsal)
    cleanup.callback(rehearsals.remove, rehearsal)
    return rehearsal
