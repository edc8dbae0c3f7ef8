"""Hooks as real processes: input, output, exit and termination."""

import json
import os
import resource
import signal
from pathlib import Path
from threading import Thread

import pytest
from tests.agent.support.hook_builders import (
    LONG,
    ON_AND_ON,
    ReadyPipe,
    a_call,
    an_event,
    is_gone,
    ran,
    seconds,
    sh,
)

from forewarn.agent.config.plan import Hook
from forewarn.agent.events.state import HookOutcome, HookRun
from forewarn.agent.hooks import runner
from forewarn.agent.hooks.call import Cancellation

#: Runs until a trap ends it. A shell that waits for a command could miss the signal,
#: and so could the command it has just started. It will not run for long.
UNTIL_TERM = "while :; do :; done"


def cut_when_up(
    text: str, ready_pipe: ReadyPipe, kill_after: float = LONG
) -> tuple[HookRun, str]:
    """Run a hook, cut it once it reports; return its end and the message."""
    cut = Cancellation()
    messages: list[str] = []

    def listen() -> None:
        messages.append(ready_pipe.read())
        cut.cancel("the event is gone")

    thread = Thread(target=listen)
    thread.start()
    ended = ran(text, a_call(cut=cut), kill_after=kill_after)
    thread.join()
    return ended, messages[0]


# --- exit --------------------------------------------------------------------


def test_exit_code_0_is_success() -> None:
    ended = ran("echo well")
    assert (ended.outcome, ended.code, ended.reason) == (HookOutcome.DONE, 0, "")
    assert (ended.output, ended.tries) == ("well\n", 1)


@pytest.mark.parametrize("code", [1, 3, 126, 127, 255])
def test_any_other_exit_code_is_a_failure(code: int) -> None:
    ended = ran(f"exit {code}")
    assert (ended.outcome, ended.code) == (HookOutcome.FAILED, code)
    assert ended.reason == f"exit code {code}"


def test_a_signal_from_elsewhere_is_a_failure() -> None:
    ended = ran("kill -USR1 $$")
    assert (ended.outcome, ended.code) == (HookOutcome.FAILED, -signal.SIGUSR1)
    assert ended.reason == "killed by signal 10 (SIGUSR1)"


def test_an_unnamed_signal_is_reported_by_number() -> None:
    assert ran("kill -40 $$").reason == "killed by signal 40"


def test_an_unknown_exit_status_is_not_a_success() -> None:
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        ended = ran("exit 0")
    finally:
        signal.signal(signal.SIGCHLD, before)
    assert (ended.outcome, ended.code) == (HookOutcome.FAILED, None)


# --- input -------------------------------------------------------------------


def test_it_receives_the_event_on_stdin() -> None:
    assert json.loads(ran("cat").output) == an_event().raw


def test_its_environment_has_the_event_and_the_agent_s_variables(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FOREWARN_TOKEN", "hush")
    monkeypatch.setenv("SOMETHING_ELSE", "kept")
    lines = ran("env").output.splitlines()
    assert {"FOREWARN_EVENT_TYPE=Reboot", "SOMETHING_ELSE=kept"} <= {*lines}
    assert not [line for line in lines if "hush" in line]


def test_an_event_that_is_not_read_blocks_nothing() -> None:
    event = an_event(Description="x" * 1_000_000)
    assert ran("exit 0", a_call(event)).outcome is HookOutcome.DONE


def test_a_long_event_is_passed_in_full() -> None:
    event = an_event(Description="x" * 1_000_000)
    assert int(ran("sleep 0.05; wc -c", a_call(event)).output) > 1_000_000


def test_a_partly_read_event_does_not_outlast_the_deadline() -> None:
    event = an_event(Description="x" * 1_000_000)
    call = a_call(event, left=0.1)
    assert seconds(ran(f"head -c 5000; {ON_AND_ON}", call)) < LONG / 2


def test_a_hook_that_closes_its_input_blocks_nothing() -> None:
    event = an_event(Description="x" * 1_000_000)
    ended = ran("exec <&-; sleep 0.05; echo on", a_call(event))
    assert ended.output == "on\n"


def test_it_leads_its_own_session() -> None:
    own, group, session = ran(
        "read -r _ _ _ _ group session _ </proc/$$/stat; echo $$ $group $session"
    ).output.split()
    assert own == group == session


def test_it_inherits_no_open_file_of_the_agent(tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        text = ran("ls -l /proc/self/fd").output
    assert "secret" not in text
    assert text.count("pipe:") == 3


# --- output ------------------------------------------------------------------


def test_stdout_and_stderr_are_kept_together_in_order() -> None:
    assert ran("echo one; echo two >&2; echo three").output == "one\ntwo\nthree\n"


def test_the_end_of_long_output_is_kept() -> None:
    ended = ran("head -c 10000000 /dev/zero | tr '\\0' x; echo last")
    assert ended.outcome is HookOutcome.DONE
    assert ended.output == "x" * 4091 + "last\n"


@pytest.mark.slow
def test_an_endless_writer_is_ended_in_time() -> None:
    ended = ran("yes", a_call(left=2))
    assert ended.outcome is HookOutcome.CUT
    assert len(ended.output) == 4096


def test_output_may_be_binary() -> None:
    assert ran("printf 'a\\377\\000\\033[31mb\\tc\\r\\n'").output == "a���[31mb\tc\n"


def test_a_character_cut_in_half_is_omitted() -> None:
    ended = ran("printf 'é%.0s' $(seq 3000); printf x")
    assert ended.output == "é" * 2047 + "x"


# --- termination -------------------------------------------------------------


def test_a_cut_ends_it_immediately(ready_pipe: ReadyPipe) -> None:
    ended, _ = cut_when_up(f"echo up > {ready_pipe.path}; {ON_AND_ON}", ready_pipe)
    assert (ended.outcome, ended.code) == (HookOutcome.CUT, -signal.SIGTERM)
    assert ended.reason == "the event is gone"
    assert seconds(ended) < LONG / 2


def test_a_process_that_ignores_term_is_killed(ready_pipe: ReadyPipe) -> None:
    text = f"trap '' TERM; echo up > {ready_pipe.path}; {ON_AND_ON}"
    ended, _ = cut_when_up(text, ready_pipe, kill_after=0.05)
    assert (ended.outcome, ended.code) == (HookOutcome.CUT, -signal.SIGKILL)
    assert ended.reason == (
        "the event is gone; SIGTERM did not stop it, so it was killed"
    )


def test_a_clean_exit_after_term_still_counts_as_cut(ready_pipe: ReadyPipe) -> None:
    text = f"trap 'echo tidy; exit 0' TERM; echo up > {ready_pipe.path}; {UNTIL_TERM}"
    ended, _ = cut_when_up(text, ready_pipe)
    assert (ended.outcome, ended.code) == (HookOutcome.CUT, 0)
    assert ended.output.endswith("tidy\n")


def test_its_child_processes_are_terminated_with_it(ready_pipe: ReadyPipe) -> None:
    ended, pid = cut_when_up(
        f"sleep 600 & echo $! > {ready_pipe.path}; wait", ready_pipe
    )
    assert ended.outcome is HookOutcome.CUT
    assert is_gone(int(pid))


def test_its_child_processes_are_killed_with_it(ready_pipe: ReadyPipe) -> None:
    say = f"sh -c 'echo $PPID' > {ready_pipe.path}"
    text = f"(trap '' TERM; {say}; {ON_AND_ON}) & wait"
    ended, pid = cut_when_up(text, ready_pipe, kill_after=0.05)
    assert is_gone(int(pid))
    assert ended.reason.endswith("so it was killed")


def test_no_file_stays_open_after_termination(ready_pipe: ReadyPipe) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    text = f"(trap '' TERM; echo up > {ready_pipe.path}; {ON_AND_ON}) & wait"
    cut_when_up(text, ready_pipe, kill_after=0.05)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_child_processes_have_time_to_clean_up(
    ready_pipe: ReadyPipe, tmp_path: Path
) -> None:
    tidy = tmp_path / "tidy"
    inner = f"trap 'sleep 0.1; : > {tidy}; exit' TERM; echo up > {ready_pipe.path}"
    ended, _ = cut_when_up(f"({inner}; {UNTIL_TERM}) & wait", ready_pipe)
    assert ended.code == -signal.SIGTERM  # the shell ended long before
    assert tidy.exists()


def test_background_processes_of_a_finished_hook_keep_running() -> None:
    ended = ran("sleep 120 & echo $!")
    pid = int(ended.output)
    assert ended.outcome is HookOutcome.DONE
    assert seconds(ended) < LONG / 2  # though the background process holds the pipe
    os.kill(pid, signal.SIGKILL)


def test_output_written_just_before_the_end_is_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runner, "_DRAIN", LONG)
    assert ran("(sleep 0.05; echo late) & exit 0").output == "late\n"


# --- concurrency and resources -----------------------------------------------


def test_hooks_run_concurrently(ready_pipe: ReadyPipe) -> None:
    """Run three hooks, each of which waits until all are up."""
    ended: dict[str, HookRun] = {}
    text = (
        f"echo $FOREWARN_RUN > {ready_pipe.path}; read -r _ < {ready_pipe.path}.go; cat"
    )

    def run_one(token: str) -> None:
        event = an_event(EventId=token)
        ended[token] = ran(text, a_call(event, token=token))

    go = ReadyPipe(ready_pipe.path.parent, "ready.go")
    threads = [Thread(target=run_one, args=(item,)) for item in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    up: set[str] = set()
    while len(up) < 3:
        up.update(ready_pipe.read().split())
    go.path.write_text("go\n" * 3)
    for thread in threads:
        thread.join()
    go.close()
    read = {token: json.loads(item.output)["EventId"] for token, item in ended.items()}
    assert read == {"a": "a", "b": "b", "c": "c"}


def test_fifty_runs_leave_nothing_behind() -> None:
    missing = Hook(name="gone", command=("/does/not/exist",))
    before = sorted(os.listdir("/proc/self/fd"))
    for number in range(50):
        ran(missing if number % 5 == 0 else sh("exit 0"))
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert zombies() == []


def zombies() -> list[int]:
    """Return the child processes that have not been reaped."""
    pids = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            stat = Path(f"/proc/{name}/stat").read_text(errors="replace")
        except OSError:
            continue
        state, parent = stat[stat.rindex(")") + 1 :].split()[:2]
        if state == "Z" and int(parent) == os.getpid():
            pids.append(int(name))
    return pids


@pytest.mark.parametrize("files", range(8))
def test_without_file_descriptors_it_fails_cleanly(files: int) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.dup(0) for _ in range(20)]  # so that there are no gaps
    for descriptor in taken:
        os.close(descriptor)
    resource.setrlimit(resource.RLIMIT_NOFILE, (taken[0] + files, hard))
    try:
        ended = ran("exit 0")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert ended.outcome in {HookOutcome.DONE, HookOutcome.FAILED}
    assert (ended.reason == "") == (ended.outcome is HookOutcome.DONE)
    assert sorted(os.listdir("/proc/self/fd")) == before
    assert zombies() == []
