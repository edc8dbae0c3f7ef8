"""The client samples of examples/clients, each in its own language."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.end_to_end.program import Program, until
from tests.patience import PATIENCE
from tests.programs.fault_proxy import Fault, RecordingProxy, a_front
from tests.programs.installed import PROGRAMS, needs, run_program
from tests.programs.interactive_program import InteractiveProgram, running_program
from tests.programs.record import approval
from tests.testing.support.inner_pytest import rehearse, shortened

import forewarn
from forewarn.testing.scenario import parser

SAMPLES = Path(__file__).parents[2] / "examples" / "clients"

#: The commands that each sample needs.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "with_forewarn.py": (),
    "scheduled_events.py": (),
    "scheduled-events.sh": ("bash", "curl", "jq"),
    "scheduled-events.js": ("node",),
    "ScheduledEvents.cs": ("mcs", "mono"),
    "scheduled_events.go": ("go",),
}

#: The sample with which the normal lane runs every test.
USUAL = "scheduled-events.sh"

ASSEMBLIES = ("-r:System.Net.Http.dll", "-r:System.Runtime.Serialization.dll")
NOBODY = "http://127.0.0.1:9"  # the discard port; requests sent to this proxy fail

#: Errors before the first success.
FAULTS: Mapping[str, Sequence[Fault]] = {
    "GET instance": [(404, b""), (200, b"")],
    "GET scheduledevents": [(200, b""), (500, b"<html>"), (404, b"")],
    "POST scheduledevents": [(503, b"")],
}

#: More errors; forewarn's own client is slower and has its own tests.
MORE: Sequence[Fault] = [(410, b""), (429, b""), (200, b"<html>")]

#: Runs a sample, with options, as the VM of a proxy.
Start = Callable[..., AbstractContextManager[InteractiveProgram]]

APPROVE_ALL = "--approve-all"

_PLATFORM = "expects approval of a platform event, which needs the switch"
_OF_OTHERS = "forbids approval of events of other VMs, which the switch gives"

#: Options of a sample, and the bundled scenarios that do not fit them: why.
MISFITS: Mapping[tuple[str, ...], Mapping[str, str]] = {
    (): {
        "canceled-maintenance": _PLATFORM,
        "concurrent-events": _PLATFORM,
        "degraded-hardware": _PLATFORM,
        "host-maintenance": _PLATFORM,
        "spot-eviction": _PLATFORM,
    },
    (APPROVE_ALL,): {
        "concurrent-events": _OF_OTHERS,
        "outage": _OF_OTHERS,
        "scale-in": _OF_OTHERS,
        "spot-eviction": _OF_OTHERS,
        "user-reboot": _OF_OTHERS,
    },
}

#: The scenario that the normal lane plays.
USUAL_SCENARIO = "user-redeploy"


def built(sample: str, folder: Path) -> list[str]:
    """Build `sample` and return the command that runs it."""
    source, binary = str(SAMPLES / sample), str(folder / "made")
    match Path(sample).suffix:
        case ".py":
            return [sys.executable, source]
        case ".cs":
            done = run_program(folder, "mcs", *ASSEMBLIES, f"-out:{binary}", source)
            command = ["mono", binary]
        case ".go":
            cache = {"GOCACHE": str(PROGRAMS / "go"), "GO111MODULE": "off"}
            done = run_program(folder, "go", "build", "-o", binary, source, **cache)
            command = [binary]
        case _:
            return [source]
    assert done.code == 0, done.err
    return command


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run two tests with every sample in the normal lane, and the others with one."""
    if "command" not in metafunc.fixturenames:
        return
    is_short = metafunc.function in {
        test_a_sample_approves_a_user_initiated_event_once,
        test_a_sample_with_the_switch_approves_a_platform_event_once,
    }
    samples = [
        pytest.param(
            sample,
            marks=[
                needs(*NEEDS[sample]),
                *([] if is_short or sample == USUAL else [pytest.mark.full]),
            ],
        )
        for sample in NEEDS
    ]
    metafunc.parametrize("command", samples, indirect=True, scope="module")


@pytest.fixture(scope="module")
def command(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    if request.param == "with_forewarn.py" and not hasattr(forewarn, "Client"):
        pytest.skip("needs forewarn.Client")
    return built(request.param, tmp_path_factory.mktemp("sample"))


@pytest.fixture
def start(command: list[str], tmp_path: Path) -> Start:
    def run(
        front: RecordingProxy, *options: str
    ) -> AbstractContextManager[InteractiveProgram]:
        environment = {
            "FOREWARN_ENDPOINT": front.url,
            "POLL_SECONDS": "0.1",
            "http_proxy": NOBODY,
            "HTTP_PROXY": NOBODY,
            "ALL_PROXY": NOBODY,
        }
        return running_program([*command, *options], tmp_path, environment)

    return run


def restarted(program: Program, vm: str) -> str:
    """Restart `vm` as a user and return the event's id."""
    response = program.service.request("POST", f"/v1/vms/{vm}/restart", {})
    assert response.status == 201, response.body
    ((event,),) = (operation["events"] for operation in response.json["maintenances"])
    return str(event["id"])


def announced(program: Program, **order: object) -> str:
    return str(program.service.announce(**order)["events"][0]["id"])


def ids(approvals: Sequence[bytes]) -> list[str]:
    return [entry["EventId"] for body in approvals for entry in requests(body)]


def requests(body: bytes) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = json.loads(body)["StartRequests"]
    return entries


def test_a_sample_approves_a_user_initiated_event_once(
    program: Program, start: Start
) -> None:
    with a_front(program.metadata[0], "db-0") as front, start(front) as sample:
        event = restarted(program, "db-0")
        sample.expect(f"{event} Reboot Scheduled", f"{event} approved")
        sample.expect(f"{event} Reboot Started")
        program.service.advance(5)
        sample.expect(f"{event} gone")
    assert ids(front.approvals) == [event]
    assert approval(program.service.facts(), event) == ("db-0", "metadata")


def test_a_sample_with_the_switch_approves_a_platform_event_once(
    program: Program, start: Start
) -> None:
    with (
        a_front(program.metadata[0], "db-0") as front,
        start(front, APPROVE_ALL) as sample,
    ):
        event = announced(program, type="Redeploy", vms=["db-0"])
        sample.expect(f"{event} Redeploy Scheduled", f"{event} approved")
        sample.expect(f"{event} Redeploy Started")
        program.service.advance(5)
        sample.expect(f"{event} gone")
    assert ids(front.approvals) == [event]
    assert approval(program.service.facts(), event) == ("db-0", "metadata")


def test_a_sample_with_the_switch_approves_events_of_other_vms(
    program: Program, start: Start
) -> None:
    with (
        a_front(program.metadata[0], "batch_2") as front,
        start(front, APPROVE_ALL) as sample,
    ):
        event = announced(program, type="Reboot", vms=["batch_1"])
        sample.expect(f"{event} Reboot Scheduled", f"{event} approved")
        sample.expect(f"{event} Reboot Started")
        program.service.advance(5)
        sample.expect(f"{event} gone")
    assert approval(program.service.facts(), event) == ("batch_2", "metadata")


@pytest.mark.parametrize("option", ["--aprove-all", "approve-all"])
def test_a_sample_refuses_an_unknown_option(
    program: Program, start: Start, option: str
) -> None:
    with (
        a_front(program.metadata[0], "web-0") as front,
        start(front, option) as sample,
    ):
        sample.expect("ended with 2")
    assert front.requests == []


@pytest.mark.parametrize(
    ("options", "scenario"),
    [
        pytest.param(
            options,
            scenario,
            id=" ".join([scenario, *options]),
            marks=[] if scenario == USUAL_SCENARIO else [pytest.mark.full],
        )
        for options, misfits in MISFITS.items()
        for scenario in parser.bundled_names()
        if scenario not in misfits
    ],
)
def test_a_sample_passes_every_bundled_scenario_that_fits(
    options: tuple[str, ...],
    scenario: str,
    command: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("POLL_SECONDS", "0.1")
    played = rehearse(parser.load_scenario(scenario), [*command, *options])
    assert [result.reason for result in played.failed] == []
    assert played.has_passed


@pytest.mark.full
@pytest.mark.parametrize(
    ("options", "scenario"),
    [(options, scenario) for options in MISFITS for scenario in MISFITS[options]],
)
def test_a_scenario_listed_as_a_misfit_does_not_pass(
    options: tuple[str, ...], scenario: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POLL_SECONDS", "0.1")
    sample = [sys.executable, str(SAMPLES / "scheduled_events.py"), *options]
    played = rehearse(shortened(parser.load_scenario(scenario)), sample)
    assert not played.has_passed


def test_a_sample_survives_errors(
    program: Program, start: Start, command: list[str]
) -> None:
    event = restarted(program, "db-0")
    more = [] if command[-1].endswith("with_forewarn.py") else MORE
    gets = [*FAULTS["GET scheduledevents"], *more]
    faults = {**FAULTS, "GET scheduledevents": gets}
    with a_front(program.metadata[0], "db-0", faults) as front, start(front) as sample:
        sample.expect(f"{event} Reboot Scheduled", f"{event} approved")
        sample.expect(f"{event} Reboot Started")
    assert ids(front.approvals) == [event, event]  # the first one was refused
    program.service.advance(5)


def test_a_sample_treats_an_empty_body_as_no_change(
    program: Program, start: Start, command: list[str]
) -> None:
    if command[-1].endswith("with_forewarn.py"):
        pytest.skip("its long poll is held for longer than the test waits")
    with a_front(program.metadata[0], "db-0") as front, start(front) as sample:
        event = announced(program, type="Redeploy", vms=["db-0"])
        sample.expect(f"{event} Redeploy Scheduled")
        front.faults["GET scheduledevents"] = [(200, b"")]
        until(lambda: not front.faults["GET scheduledevents"])
        program.service.advance(600)
        sample.expect(f"{event} Redeploy Started")
    program.service.advance(5)


def test_a_sample_does_not_approve_platform_events(
    program: Program, start: Start
) -> None:
    with a_front(program.metadata[0], "db-0") as front, start(front) as sample:
        event = announced(program, type="Redeploy", vms=["db-0"])
        sample.expect(f"{event} Redeploy Scheduled")
        program.service.advance(600)
        sample.expect(f"{event} Redeploy Started")
        program.service.advance(5)
        sample.expect(f"{event} gone")
    assert front.approvals == []


def test_a_sample_approves_only_short_freezes(program: Program, start: Start) -> None:
    with a_front(program.metadata[0], "db-0") as front, start(front) as sample:
        longer = announced(program, type="Freeze", duration_seconds=10, vms=["db-0"])
        sample.expect(f"{longer} Freeze Scheduled")
        short = announced(program, type="Freeze", duration_seconds=9, vms=["db-0"])
        sample.expect(f"{short} Freeze Scheduled", f"{short} approved")
        sample.expect(f"{short} Freeze Started")
    assert ids(front.approvals) == [short]
    program.service.advance(30)
    program.service.advance(900)
    program.service.advance(30)


def test_a_sample_leaves_events_to_the_vm_named_first(
    program: Program, start: Start
) -> None:
    with a_front(program.metadata[0], "batch_2") as front, start(front) as sample:
        for named in (["batch_1"], ["batch_1", "batch_2"]):
            event = announced(program, type="Freeze", duration_seconds=3, vms=named)
            sample.expect(f"{event} Freeze Scheduled")
            program.service.advance(900)
            sample.expect(f"{event} Freeze Started")
            program.service.advance(30)
            sample.expect(f"{event} gone")
    assert front.approvals == []


def test_a_sample_approves_for_all_vms_if_its_vm_is_named_first(
    program: Program, start: Start
) -> None:
    with a_front(program.metadata[0], "batch_1") as front, start(front) as sample:
        both = ["batch_1", "batch_2"]
        event = announced(program, type="Freeze", duration_seconds=3, vms=both)
        sample.expect(f"{event} Freeze Scheduled", f"{event} approved")
    assert ids(front.approvals) == [event]
    program.service.advance(30)


def test_a_sample_does_not_repeat_a_bad_request(program: Program, start: Start) -> None:
    refusing = {"GET scheduledevents": [(400, b"{}")] * 100}
    with (
        a_front(program.metadata[0], "web-0", refusing) as front,
        start(front) as sample,
    ):
        sample.expect("ended with 1")
    assert front.count("GET scheduledevents") == 1


def test_a_sample_exits_on_sigterm(program: Program, start: Start) -> None:
    with a_front(program.metadata[0], "web-0") as front, start(front) as sample:
        event = announced(program, type="Freeze", vms=["web-1"])
        sample.expect(f"{event} Freeze Scheduled")
        sample.end()
        assert sample.lines.get(timeout=PATIENCE) in {
            "ended with -15",
            "ended with 143",
        }
    program.service.advance(1200)
