"""Options and fixtures of the conformance suite, and its failure reports.

Without --control the tests change nothing: they send only GET requests, and approvals
that are malformed or name events that do not exist.
"""

import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.conformance import target
from tests.conformance.arm_client import ArmClient
from tests.conformance.control import Clock
from tests.conformance.facts import CHOICE, Fact, read_facts
from tests.conformance.raw_connection import Transcript
from tests.conformance.report import RunResults, write_report
from tests.conformance.target import Serve, Settings, Target
from tests.conformance.temporary_fleet import (
    TemporaryFleet,
    a_temporary_fleet,
    clean_up,
)
from tests.conformance.vm import VM

_FACTS = pytest.StashKey[Mapping[str, Fact]]()
_OUTCOMES = pytest.StashKey[RunResults]()


# --- options and markers -----------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("conformance").addoption
    add("--endpoint", metavar="URL", help="test this base address, without /metadata")
    add(
        "--control",
        metavar="URL",
        help="use this control API to create fleets and events",
    )
    add("--token", metavar="T", help="use this token for the control API")
    add("--polite", action="store_true", help="send fewer than 5 requests per second")
    add("--report", metavar="FILE", help="write the result of each fact to this file")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FACTS] = read_facts()
    config.stash[_OUTCOMES] = RunResults()
    if _option(config, "control") and not _option(config, "endpoint"):
        raise pytest.UsageError("--control requires --endpoint")
    if _option(config, "control") and not _option(config, "token"):
        raise pytest.UsageError("--control requires --token")


def _option(config: pytest.Config, name: str) -> str | None:
    """Return the value of an option, or None if the whole test suite runs."""
    value = config.getoption(name, default=None)
    return str(value) if value else None


@pytest.hookimpl(tryfirst=True)  # before -m selects by marker
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    facts = config.stash[_FACTS]
    for item in items:
        if _option(config, "endpoint") is not None:
            item.add_marker(pytest.mark.timeout(600))  # its first responses may be slow
        numbers = _numbers(item)
        if not facts.keys() >= {*numbers}:
            raise pytest.UsageError(
                f"{item.name}: wire.md does not have all of {numbers}"
            )
        if any(facts[number].mark == CHOICE for number in numbers):
            item.add_marker(pytest.mark.choice)


def _numbers(item: pytest.Item) -> list[str]:
    return [str(n) for mark in item.iter_markers("fact") for n in mark.args]


# --- failure reports ---------------------------------------------------------


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    name = getattr(item, "originalname", None) or item.name
    item.config.stash[_OUTCOMES].note(item.path.name, name, report)
    if report.failed:
        facts = item.config.stash[_FACTS]
        for number in _numbers(item):
            details = facts[number]
            report.sections.append((f"{number}, {details.mark}", details.text))
        transcript = getattr(item, "funcargs", {}).get("transcript")
        if isinstance(transcript, Transcript):
            report.sections.append(("transcript", "\n".join(transcript.lines)))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = _option(session.config, "report")
    if path is not None:
        endpoint = _option(session.config, "endpoint")
        write_report(Path(path), endpoint, session.config.stash[_OUTCOMES])


# --- fixtures ----------------------------------------------------------------


@pytest.fixture(scope="session")
def target_service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Target]:
    """Provide the service named by the options, or start forewarn."""
    config = request.config
    endpoint = _option(config, "endpoint")
    if endpoint is None:
        with target.own(tmp_path_factory.mktemp("conformance"), Settings()) as service:
            yield service
        return
    control, token = _option(config, "control"), _option(config, "token")
    polite = _option(config, "polite") is not None
    yield target.named(endpoint, control, token, polite=polite)


@pytest.fixture
def transcript(target_service: Target) -> Transcript:
    """Provide the transcript of this test's requests and responses."""
    return Transcript(pace=target_service.pace, timeout=target_service.patience)


@pytest.fixture
def vm(target_service: Target, transcript: Transcript) -> VM:
    """Provide the VM of the endpoint."""
    return VM(endpoint=target_service.endpoint, transcript=transcript)


@pytest.fixture(scope="session")
def leftovers() -> Iterator[list[TemporaryFleet]]:
    """Collect fleets whose events outlive their tests."""
    fleets: list[TemporaryFleet] = []
    yield fleets
    clean_up(fleets)


@pytest.fixture
def fleet(
    target_service: Target, vm: VM, leftovers: list[TemporaryFleet]
) -> Iterator[TemporaryFleet]:
    """Provide a fleet for this test."""
    if target_service.control is None:
        pytest.skip(target.NEEDS_CONTROL)
    with a_temporary_fleet(target_service.control, vm, leftovers) as created:
        yield created


@pytest.fixture
def arm(fleet: TemporaryFleet) -> ArmClient:
    """Provide a client of Azure's control plane for the fleet of the test."""
    return ArmClient(control=fleet.control)


@pytest.fixture
def clock(target_service: Target) -> Clock:
    """Provide a clock that tests can advance."""
    if target_service.control is None:
        pytest.skip(target.NEEDS_CONTROL)
    if target_service.control.send("GET", "/v1/clock")["clock"] != "manual":
        pytest.skip(target.NEEDS_CLOCK)
    return Clock(control=target_service.control)


@pytest.fixture
def notified_vm(
    target_service: Target, vm: VM, leftovers: list[TemporaryFleet]
) -> Iterator[VM]:
    """Provide a VM with a scheduled event."""
    if target_service.control is not None:
        with a_temporary_fleet(target_service.control, vm, leftovers) as created:
            (first, _) = created.group()
            created.announce("Reboot", first)
            yield first
    elif vm.events():
        yield vm
    else:
        pytest.skip(target.NEEDS_EVENT)


@pytest.fixture
def any_method_vm(target_service: Target, vm: VM) -> VM:
    """Provide the VM of the endpoint if all HTTP methods may be tried."""
    if target_service.control is None:
        pytest.skip(target.NEEDS_METHODS)
    return vm


@pytest.fixture(scope="session")
def other_targets(
    target_service: Target, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Settings], Target]]:
    """Start services with other settings, one for each combination."""
    started: dict[Settings, Target] = {}
    with ExitStack() as stack:

        def start(settings: Settings) -> Target:
            if not target_service.is_own:
                pytest.skip(target.NEEDS_START.format(settings))
            if settings not in started:
                folder = tmp_path_factory.mktemp("other")
                service = stack.enter_context(target.own(folder, settings))
                started[settings] = service
            return started[settings]

        yield start


@pytest.fixture
def serve(
    other_targets: Callable[[Settings], Target],
    transcript: Transcript,
    leftovers: list[TemporaryFleet],
) -> Iterator[Serve]:
    """Set up a fleet on a service with other settings."""
    with ExitStack() as stack:

        def start(settings: Settings) -> TemporaryFleet:
            service = other_targets(settings)
            assert service.control is not None
            vm = VM(endpoint=service.endpoint, transcript=transcript)
            return stack.enter_context(
                a_temporary_fleet(service.control, vm, leftovers)
            )

        yield start


@pytest.fixture
def unknown() -> str:
    """Return an id that no event has."""
    raw = secrets.token_hex(16).upper()
    return "-".join([raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]])
