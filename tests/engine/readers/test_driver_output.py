"""Driver output and reports: recorded as they arrive, whatever they contain."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta

import pytest
from tests.engine.support.system import (
    OpenStore,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.core.lifecycle.facts import (
    Completed,
    Fact,
    WorkBegan,
    WorkDone,
    WorkFailed,
    WorkPrinted,
)
from forewarn.core.lifecycle.model import Phase
from forewarn.core.lifecycle.policy import Rules
from forewarn.engine.readers.driver_runner import MOST_OUTPUT, last_bytes
from forewarn.ports import Driver, Printed, Report, Work
from forewarn.protocol.types import EventType


def after(open_store: OpenStore, driver: Driver) -> System:
    """Return a system whose driver has worked on db-0 and web-0."""
    system = a_system(open_store(), driver=driver, parallel=1)
    order = a_reboot(host="host-a")
    maintenance = system.announce(order)
    system.clock.move_to(maintenance.not_before)
    system.engine.tick()
    system.works.finish()
    return system


def driver_facts(system: System) -> list[Fact]:
    kinds = (WorkBegan, WorkDone, WorkFailed, WorkPrinted)
    return [fact for fact in system.journal() if isinstance(fact, kinds)]


def printing(*texts: str) -> Callable[[Work], Iterable[Report | Printed]]:
    return lambda work: [Printed(text=text) for text in texts]


# --- output ------------------------------------------------------------------


def test_output_is_recorded_before_the_reports_that_follow(
    open_store: OpenStore,
) -> None:
    def act(work: Work) -> Iterator[Report | Printed]:
        yield Report(vm="db-0")
        yield Printed(text="halfway\n")
        yield Report(vm="web-0", failed=True, detail="no disk")

    began, first, printed, last = driver_facts(after(open_store, RecordingDriver(act)))
    assert isinstance(began, WorkBegan)
    assert isinstance(first, WorkDone)
    assert isinstance(printed, WorkPrinted)
    assert (printed.output, printed.attempt) == ("halfway\n", 1)
    assert isinstance(last, WorkFailed)


def test_output_after_the_last_report_is_kept(open_store: OpenStore) -> None:
    def act(work: Work) -> Iterator[Report | Printed]:
        yield Report(vm="web-0")
        yield Printed(text="tidied up\n")

    rules = Rules(shown=dict.fromkeys(EventType, timedelta(0)))
    system = a_system(open_store(), driver=RecordingDriver(act), rules=rules)
    maintenance = system.announce(an_emergency("web-0"))
    system.works.finish()
    kinds = [type(fact) for fact in system.journal()]
    assert kinds.index(Completed) < kinds.index(WorkPrinted)
    assert system.phase(maintenance.id) is Phase.COMPLETED


def test_the_end_of_the_output_is_kept(open_store: OpenStore) -> None:
    text = "a" * MOST_OUTPUT + "z" * 10
    system = after(open_store, RecordingDriver(printing(text)))
    (fact,) = system.facts(WorkPrinted)
    assert fact.output == text[-MOST_OUTPUT:]


def test_the_output_of_one_call_is_limited(
    open_store: OpenStore,
) -> None:
    texts = ["b" * MOST_OUTPUT, "c", "d"]
    system = after(open_store, RecordingDriver(printing(*texts)))
    assert sum(len(fact.output) for fact in system.facts(WorkPrinted)) == MOST_OUTPUT


def test_empty_output_is_not_recorded(open_store: OpenStore) -> None:
    system = after(open_store, RecordingDriver(printing("")))
    assert not system.facts(WorkPrinted)


@pytest.mark.parametrize(
    ("text", "most", "end"),
    [("abc", 2, "bc"), ("aäb", 2, "b"), ("aäb", 3, "äb"), ("", 5, ""), ("ab", 0, "")],
)
def test_no_character_is_cut_in_half(text: str, most: int, end: str) -> None:
    assert last_bytes(text, most) == end


def test_a_lone_surrogate_is_replaced(open_store: OpenStore) -> None:
    system = after(open_store, RecordingDriver(printing("a\ud800b")))
    assert [fact.output for fact in system.facts(WorkPrinted)] == ["a?b"]


# --- reports -----------------------------------------------------------------


def test_reports_are_written_one_by_one_as_they_arrive(open_store: OpenStore) -> None:
    seen: list[int] = []

    def act(work: Work) -> Iterator[Report]:
        for vm in work.vms:
            yield Report(vm=vm.name)
            seen.append(len(system.facts(WorkDone)))

    system = a_system(open_store(), driver=RecordingDriver(act), parallel=1)
    maintenance = system.announce(a_reboot(host="host-a"))
    system.clock.move_to(maintenance.not_before)
    system.engine.tick()
    system.works.finish()
    assert seen == [1, 2]


class BatchDriver:
    """Driver that reports on all VMs at once, after some output."""

    def carry_out(self, work: Work) -> Iterator[Printed | list[Report]]:
        yield Printed(text="now")
        yield [Report(vm=vm.name) for vm in work.vms]


def test_reports_that_arrive_together_are_one_fact(open_store: OpenStore) -> None:
    (fact,) = after(open_store, BatchDriver()).facts(WorkDone)
    assert fact.vms == ("db-0", "web-0")


# --- broken drivers ----------------------------------------------------------


def fail_with(error: BaseException) -> Callable[[Work], Iterator[Report]]:
    def act(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0")
        raise error

    return act


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), RecursionError()])
def test_an_exception_fails_everything_not_yet_reported(
    open_store: OpenStore, error: BaseException
) -> None:
    system = after(open_store, RecordingDriver(fail_with(error)))
    (fact,) = system.facts(WorkFailed)
    assert fact.vms == ("web-0",)
    assert fact.detail.startswith(f"the driver failed: {type(error).__name__}: ")


def test_a_vm_reported_as_failed_fails_once(open_store: OpenStore) -> None:
    def act(work: Work) -> Iterator[Report]:
        yield Report(vm="db-0", failed=True, detail="no disk")
        raise ValueError("no")

    facts = after(open_store, RecordingDriver(act)).facts(WorkFailed)
    assert [fact.vms for fact in facts] == [("db-0",), ("web-0",)]


def test_the_traceback_is_only_in_the_log(
    open_store: OpenStore, caplog: pytest.LogCaptureFixture
) -> None:
    system = after(open_store, RecordingDriver(fail_with(ValueError("no"))))
    assert "Traceback" in caplog.text
    assert "Traceback" not in repr(system.journal())


class InvalidDriver:
    """Driver that returns invalid values."""

    def __init__(self, answer: object) -> None:
        self._answer = answer

    def carry_out(self, work: Work) -> list[Report]:
        return self._answer  # type: ignore[return-value]  # that is the point


@pytest.mark.parametrize("answer", [None, 7])
def test_a_driver_without_an_iterable_result_has_failed(
    open_store: OpenStore, answer: object
) -> None:
    (fact,) = after(open_store, InvalidDriver(answer)).facts(WorkFailed)
    assert fact.vms == ("db-0", "web-0")


@pytest.mark.parametrize("answer", ["done", [], [None, "web-0"], iter([3, ["x"]])])
def test_an_invalid_report_is_ignored(open_store: OpenStore, answer: object) -> None:
    system = after(open_store, InvalidDriver(answer))
    assert [type(fact) for fact in driver_facts(system)] == [WorkBegan]


def test_a_long_error_is_cut(open_store: OpenStore) -> None:
    system = a_system(
        open_store(), driver=RecordingDriver(fail_with(ValueError("x" * 5000)))
    )
    system.announce(an_emergency("web-0"))
    system.works.finish()
    assert len(system.facts(WorkFailed)[0].detail) == 1000
