"""Crash safety: a crash at any moment leaves the previous event state or the new."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.agent.support.power_cuts import PowerCutRecorder, leftovers
from tests.agent.support.stored_states import ID, a_state

from forewarn.agent.events.state import EventState
from forewarn.agent.storage.store import LoadedStates, StateStore

LIVES = [a_state(boot=f"boot-{n}") for n in range(3)]
NEW = LIVES[-1]


def saved(folder: Path, states: list[EventState]) -> Path:
    """Save `lives` one after another and return the folder of their files."""
    store = StateStore(folder)
    store.open()
    for state in states:
        store.save(state)
    store.close()
    return folder / "events"


def loaded(folder: Path, files: Mapping[str, bytes]) -> LoadedStates:
    """Load the stored event states from `files`."""
    events = folder / "events"
    for path in [*events.iterdir()]:
        path.unlink()
    for name, content in files.items():
        (events / name).write_bytes(content)
    return StateStore(folder).load()


@pytest.mark.parametrize("former", range(3))
def test_a_power_cut_leaves_the_previous_state_or_the_new_one(
    tmp_path: Path, former: int
) -> None:
    recorder = PowerCutRecorder(saved(tmp_path, LIVES[:former]))
    StateStore(tmp_path, recorder.disk()).save(NEW)
    allowed = [NEW, LIVES[former - 1] if former else None]
    for moment in recorder.moments:
        for files in leftovers(moment):
            restored = loaded(tmp_path, files)
            assert restored.states.get(ID) in allowed, files.keys()
            assert restored.problems == (), files.keys()


@pytest.mark.parametrize("former", range(3))
def test_a_saved_state_survives_a_power_cut(tmp_path: Path, former: int) -> None:
    recorder = PowerCutRecorder(saved(tmp_path, LIVES[:former]))
    StateStore(tmp_path, recorder.disk()).save(NEW)
    for files in leftovers(recorder.moments[-1]):
        assert loaded(tmp_path, files).states == {ID: NEW}


def test_a_state_being_deleted_does_not_revert_to_an_older_one(
    tmp_path: Path,
) -> None:
    recorder = PowerCutRecorder(saved(tmp_path, LIVES))
    StateStore(tmp_path, recorder.disk()).delete(ID)
    for moment in recorder.moments[:2]:  # `older` is removed first
        for files in leftovers(moment):
            assert loaded(tmp_path, files).states == {ID: NEW}
    for files in leftovers(recorder.moments[-1]):
        assert loaded(tmp_path, files).states == {}


#: Dies at each call in turn, halfway through each write.
_DYING = """
import os, sys
from dataclasses import fields
from pathlib import Path
from tests.agent.support.stored_states import a_state
from forewarn.agent.storage.store import Disk, StateStore

def dying(fatal):
    left = [fatal]
    def counted(name, call):
        def counting(*args):
            left[0] -= 1
            if left[0] < 0:
                if name == "write":
                    os.write(args[0], args[1][:len(args[1]) // 2])
                os._exit(9)
            return call(*args)
        return counting
    calls = {each.name: counted(each.name, each.default) for each in fields(Disk)}
    return Disk(**calls)

for fatal in range(100):
    folder = Path(sys.argv[1]) / str(fatal)
    for boot in ("former", "last"):
        store = StateStore(folder)
        store.open()
        store.save(a_state(boot=boot))
        store.close()
    child = os.fork()
    if not child:
        StateStore(folder, dying(fatal)).save(a_state(boot="new"))
        os._exit(0)
    died = os.waitpid(child, 0)[1] != 0
    found = StateStore(folder).load()
    boots = [each.boot for each in found.states.values()]
    print("died" if died else "lived", *boots, *found.problems)
    if not died:
        break
"""


def test_a_process_that_dies_at_any_call_leaves_the_last_state_or_the_new_one(
    tmp_path: Path,
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DYING, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=Path(__file__).parents[3],
        check=True,
    )
    *deaths, end = done.stdout.splitlines()
    assert end == "lived new"
    assert len(deaths) > 8
    assert set(deaths) == {"died last", "died new"}
