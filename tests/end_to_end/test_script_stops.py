"""Stops and kills while a script runs: nothing is lost and nothing runs twice."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from tests.drivers.scripts import is_alive, write_script
from tests.end_to_end.program import SOON, Program, run, serving, until
from tests.end_to_end.script_services import LONG, a_fleet, settings
from tests.end_to_end.test_refusals import PORTS, check_sentence

#: Records when two runs of the script overlap.
ALONE = """\
exec 9>>{folder}/alone
flock -n 9 || echo overlap >>{folder}/trace
echo "begin $FOREWARN_ATTEMPT" >>{folder}/trace
test "$FOREWARN_ATTEMPT" = 1 || exit 0
trap 'sleep 0.3; exit 1' TERM
echo $$ >{folder}/pid
while :; do sleep 0.05; done
"""

#: Starts a service whose script has the given text.
Serve = Callable[..., AbstractContextManager[Program]]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    def start(
        text: str, *options: str, **driver: float
    ) -> AbstractContextManager[Program]:
        script = write_script(tmp_path / "script", text)
        arguments = (*settings(tmp_path, script, **driver), *options)
        return serving(tmp_path, *arguments, fleet=a_fleet(tmp_path))

    return start


@pytest.mark.full
def test_a_hanging_script_is_ended_and_retried_automatically(
    serve: Serve, tmp_path: Path
) -> None:
    text = f"test $FOREWARN_ATTEMPT != 1 || sleep 30; echo $0 >>{tmp_path}/trace"
    with serve(text, timeout=3, retries=1, backoff=0.2) as program:
        maintenance = program.service.announce(vms=["a1"], emergency=True, reason="x")
        path = f"/v1/maintenances/{maintenance['id']}"
        until(lambda: program.service.get(path)["phase"] == "COMPLETED", LONG)
        (failed,) = program.service.facts("WorkFailed")
        (retried,) = program.service.facts("WorkRetried")
    assert failed["detail"] == "took longer than 3 s"
    assert retried["by"] is None


def test_a_kill_of_the_service_ends_the_script_before_the_next_run(
    serve: Serve, tmp_path: Path
) -> None:
    text = ALONE.format(folder=tmp_path)
    with serve(text) as program:
        maintenance = program.service.announce(vms=["a1"], emergency=True, reason="x")
        until((tmp_path / "pid").exists, LONG)
        program.kill()
    with serve(text) as program:
        path = f"/v1/maintenances/{maintenance['id']}"
        until(lambda: program.service.get(path)["phase"] == "COMPLETED", LONG)
        began = program.service.facts("WorkBegan")
    assert [fact["attempt"] for fact in began] == [1, 2]
    assert (tmp_path / "trace").read_text() == "begin 1\nbegin 2\n"


@pytest.mark.full
@pytest.mark.parametrize(
    "stubborn",
    ["", "trap '' TERM;", "trap 'exit 0' TERM;"],
    ids=["heeds", "does not", "says that all is well"],
)
def test_the_service_stops_quickly_together_with_its_script(
    serve: Serve, tmp_path: Path, stubborn: str
) -> None:
    text = (
        f"{stubborn} test $FOREWARN_ATTEMPT = 1 || exit 0\n"
        f"echo $$ >{tmp_path}/draft; mv {tmp_path}/draft {tmp_path}/pid\n"
        "while :; do sleep 0.05; done"
    )
    with serve(text) as program:
        maintenance = program.service.announce(vms=["a1"], emergency=True, reason="x")
        until((tmp_path / "pid").exists, LONG)
        code, seconds = program.stop()
        assert (code, "Traceback" in program.log) == (0, False)
    assert seconds < SOON
    assert not is_alive(int((tmp_path / "pid").read_text()))
    with serve(text) as program:
        path = f"/v1/maintenances/{maintenance['id']}"
        until(lambda: program.service.get(path)["phase"] == "COMPLETED", LONG)
        kinds = [fact["fact"] for fact in program.service.facts()]
    assert kinds.count("WorkBegan") == 2
    assert "WorkFailed" not in kinds


@pytest.mark.full
def test_an_advance_waits_for_the_script(serve: Serve, tmp_path: Path) -> None:
    with serve("sleep 0.5", "--clock", "manual") as program:
        began = time.monotonic()
        program.service.announce(vms=["a1"], emergency=True, reason="x")
        program.service.advance(60)
        assert time.monotonic() - began >= 0.5
        assert len(program.service.facts("Completed")) == 1


# --- refused starts ----------------------------------------------------------


@pytest.mark.full
def test_a_start_without_a_command_is_refused(tmp_path: Path) -> None:
    ended = run(tmp_path, "serve", *PORTS, "--driver", "script")
    check_sentence(ended, 1, "--driver-command", "FOREWARN_DRIVER_COMMAND")


@pytest.mark.full
@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("./nothing", "does not exist"),
        (".", "not in $PATH"),
        ("./", "is a directory"),
        ("nothing-at-all", "not in $PATH"),
        ("./plain", "not executable"),
        ("./lost", "/no/interpreter"),
    ],
)
def test_a_command_that_cannot_be_run_is_refused(
    tmp_path: Path, command: str, why: str
) -> None:
    (tmp_path / "plain").write_text("exit 0")
    write_script(tmp_path / "lost", "#!/no/interpreter\n")
    options = ("--driver", "script", "--driver-command", command)
    check_sentence(run(tmp_path, "serve", *PORTS, *options), 1, why)


def test_a_malformed_command_is_a_usage_error(tmp_path: Path) -> None:
    options = ("--driver", "script", "--driver-command", "echo 'open")
    check_sentence(run(tmp_path, "serve", *PORTS, *options), 2, "--driver-command")
