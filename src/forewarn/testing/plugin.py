"""pytest plugin with the fixtures `scheduled_events` and `make_scheduled_events`.

pytest imports this module in every run, so everything else is imported when needed.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from forewarn.testing.rehearsal.rehearsal import Rehearsal

_MARKER = "scheduled_events"
_SECTION = "scheduled events"
_HELP = (
    f"{_MARKER}(fleet=None, vms=(), vm=None, seed=None, settings=None): configure"
    " the fixture `scheduled_events`: a fleet (a file next to the test, or tables)"
    " or the VMs of one group, the VM on which the program runs, and a seed for"
    " event IDs"
)

#: Exit codes of a program that was stopped at the end of its `run` block.
_BY_US = (-15, -9)

_rehearsals = pytest.StashKey[list["Rehearsal"]]()


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", _HELP)


@pytest.fixture
def make_scheduled_events(
    request: pytest.FixtureRequest,
) -> "Iterator[Callable[..., Rehearsal]]":
    """Return a function that starts rehearsals, all of which stop after the test.

    The function accepts the marker's arguments. Environment variables are not set.
    """
    with ExitStack() as cleanup:
        yield lambda **arguments: _open(request, cleanup, arguments)


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
    """Add the timelines of all rehearsals to the report of a failed test."""
    report = yield
    rehearsals = item.stash.get(_rehearsals, None)
    if rehearsals and report.failed and call.excinfo is not None:
        _add_sections(report, rehearsals, call.excinfo.exconly())
    return report


def _add_sections(
    report: pytest.TestReport, rehearsals: "list[Rehearsal]", message: str
) -> None:
    from forewarn.errors import ForewarnError
    from forewarn.testing.rehearsal.timeline import TITLE

    for rehearsal in rehearsals:
        with suppress(ForewarnError):  # the test's own failure matters more
            if TITLE not in message:
                report.sections.append((_SECTION, rehearsal.timeline()))
        for program in rehearsal.programs:
            end = (
                "stopped by the test" if program.code in _BY_US else "ended on its own"
            )
            title = f"the program's output ({end}, exit code {program.code})"
            report.sections.append((title, program.written or "(no output)"))


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
