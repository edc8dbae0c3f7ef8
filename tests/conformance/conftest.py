"""Options and fixtures of the conformance suite, and its failure reports.

Without --control nothing is ever changed: the suite then only sends GET requests, and
approvals that are malformed or name events that do not exist.
"""

import secrets
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.conformance import target
from tests.conformance.control import Clock
from tests.conformance.facts import CHOICE, Fact, read_facts
from tests.conformance.report import RunResults, write_report
from tests.conformance.stage import TemporaryFleet, a_stage, take_down
from tests.conformance.target import Serve, Settings, Target
from tests.conformance.vm import VM
from tests.conformance.wire import Transcript

_FACTS = pytest.StashKey[Mapping[str, Fact]]()
_OUTCOMES = pytest.StashKey[RunResults]()


# --- options and markers -----------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    add = parser.getgroup("conformance").addoption
    add("--endpoint", metavar="URL", help="a base address without /metadata")
    add("--control", metavar="URL", help="the control API behind it")
    add("--token", metavar="T", help="the token for the control API")
    add("--polite", action="store_true", help="under 5 requests a second")
    add("--report", metavar="FILE", help="write what each fact came to")


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_FACTS] = read_facts()
    config.stash[_OUTCOMES] = RunResults()
    if _option(config, "control") and not _option(config, "endpoint"):
        raise pytest.UsageError("--control needs the --endpoint that it belongs to")
    if _option(config, "control") and not _option(config, "token"):
        raise pytest.UsageError("--control needs a --token")


def _option(config: pytest.Config, name: str) -> str | None:
    """Return the value of an option, or None where the whole test suite is run."""
    value = config.getoption(name, default=None)
    return str(value) if value else None


@pytest.hookimpl(tryfirst=True)  # before -m selects by marker
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    facts = config.stash[_FACTS]
    for item in items:
        if _option(config, "endpoint") is not None:
            item.add_marker(pytest.mark.timeout(600))  # its first answers may be slow
        numbers = _numbers(item)
        if not facts.keys() >= {*numbers}:
            raise pytest.UsageError(f"{item.name}: wire.md lacks one of {numbers}")
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
        wire = getattr(item, "funcargs", {}).get("wire")
        if isinstance(wire, Transcript):
            report.sections.append(("what was said", "\n".join(wire.said)))
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    path = _option(session.config, "report")
    if path is not None:
        endpoint = _option(session.config, "endpoint")
        write_report(Path(path), endpoint, session.config.stash[_OUTCOMES])


# --- fixtures ----------------------------------------------------------------


@pytest.fixture(scope="session")
def tested(
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
def wire(tested: Target) -> Transcript:
    """Provide the transcript of this test's requests and responses."""
    return Transcript(pace=tested.pace, timeout=tested.patience)


@pytest.fixture
def vm(tested: Target, wire: Transcript) -> VM:
    """Provide the VM of the endpoint."""
    return VM(endpoint=tested.endpoint, wire=wire)


@pytest.fixture(scope="session")
def left() -> Iterator[list[TemporaryFleet]]:
    """Collect stages whose events must be shown longer than their test runs."""
    stages: list[TemporaryFleet] = []
    yield stages
    take_down(stages)


@pytest.fixture
def stage(
    tested: Target, vm: VM, left: list[TemporaryFleet]
) -> Iterator[TemporaryFleet]:
    """Provide a stage for this test."""
    if tested.control is None:
        pytest.skip(target.NEEDS_CONTROL)
    with a_stage(tested.control, vm, left) as created:
        yield created


@pytest.fixture
def clock(tested: Target) -> Clock:
    """Provide a clock that tests can advance."""
    if tested.control is None:
        pytest.skip(target.NEEDS_CONTROL)
    if tested.control.ask("GET", "/v1/clock")["clock"] != "manual":
        pytest.skip(target.NEEDS_CLOCK)
    return Clock(control=tested.control)


@pytest.fixture
def warned(tested: Target, vm: VM, left: list[TemporaryFleet]) -> Iterator[VM]:
    """Provide a VM with a scheduled event."""
    if tested.control is not None:
        with a_stage(tested.control, vm, left) as created:
            (first, _) = created.group()
            created.announce("Reboot", first)
            yield first
    elif vm.events():
        yield vm
    else:
        pytest.skip(target.NEEDS_EVENT)


@pytest.fixture
def daring(tested: Target, vm: VM) -> VM:
    """Provide the VM of the endpoint if any HTTP method may be tried."""
    if tested.control is None:
        pytest.skip(target.NEEDS_METHODS)
    return vm


@pytest.fixture(scope="session")
def others(
    tested: Target, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[Settings], Target]]:
    """Start services with other settings, one for each combination."""
    started: dict[Settings, Target] = {}
    with ExitStack() as stack:

        def start(settings: Settings) -> Target:
            if not tested.is_own:
                pytest.skip(target.NEEDS_START.format(settings))
            if settings not in started:
                folder = tmp_path_factory.mktemp("other")
                service = stack.enter_context(target.own(folder, settings))
                started[settings] = service
            return started[settings]

        yield start


@pytest.fixture
def serve(
    others: Callable[[Settings], Target], wire: Transcript, left: list[TemporaryFleet]
) -> Iterator[Serve]:
    """Set up a stage on a service with other settings."""
    with ExitStack() as stack:

        def start(settings: Settings) -> TemporaryFleet:
            service = others(settings)
            assert service.control is not None
            vm = VM(endpoint=service.endpoint, wire=wire)
            return stack.enter_context(a_stage(service.control, vm, left))

        yield start


@pytest.fixture
def unknown() -> str:
    """Return an id that no event has."""
    raw = secrets.token_hex(16).upper()
    return "-".join([raw[:8], raw[8:12], raw[12:16], raw[16:20], raw[20:]])
