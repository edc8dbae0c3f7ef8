"""Test lanes: how large tests are, and which test files run first.

`scripts/test` chooses the lane; CONTRIBUTING.md describes the three of them.
"""

import gc
import os

import pytest
from hypothesis import settings

IS_FULL = os.environ.get("FOREWARN_TEST_LANE") == "full"

#: Seed of random tests. It is 0 except in the full lane, which draws a new one.
SEED = int(os.environ.get("FOREWARN_TEST_SEED", "0"))

#: The files that take longest in the normal lane, longest first. They start first,
#: so that no worker is left with a long file when the others have finished.
LONGEST = (
    "tests/faults/test_trial.py",
    "tests/end_to_end/test_load_kill.py",
    "tests/end_to_end/test_stop.py",
    "tests/end_to_end/test_agent_kills.py",
    "tests/engine/test_advance.py",
    "tests/browser/test_accessible.py",
    "tests/stores/test_contract_writers.py",
    "tests/stores/test_contract.py",
    "tests/engine/test_crashes.py",
    "tests/drivers/test_hypervisor_scripts.py",
    "tests/end_to_end/test_script_driver.py",
    "tests/server/metadata/test_any_bytes.py",
    "tests/browser/test_acts.py",
    "tests/end_to_end/test_full_disk.py",
    "tests/browser/test_live.py",
    "tests/browser/test_timeline.py",
    "tests/end_to_end/test_output.py",
    "tests/service/test_starts.py",
    "tests/browser/test_units.py",
    "tests/end_to_end/test_postgres_conformance.py",
    "tests/end_to_end/test_agent.py",
    "tests/end_to_end/test_readme.py",
    "tests/service/test_restarts.py",
    "tests/core/lifecycle/test_properties.py",
    "tests/stores/test_postgres_hangs.py",
    "tests/client/test_dhcp_server.py",
    "tests/end_to_end/test_completion.py",
)

# The same examples in every run, so that a failure is about the change under test.
settings.register_profile("steady", derandomize=True, database=None, deadline=None)
settings.register_profile("fresh", database=None, deadline=None, print_blob=True)
settings.load_profile("fresh" if IS_FULL else "steady")


def size(normal: int, full: int) -> int:
    """Return `normal`, or `full` in the full lane."""
    return full if IS_FULL else normal


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the longest files to the front; the order inside a file stays."""
    rank = {path: number for number, path in enumerate(LONGEST)}
    items.sort(key=lambda item: rank.get(item.location[0], len(rank)))


def pytest_collection_finish() -> None:
    """Exclude everything collected from garbage collection.

    Each full collection would otherwise visit thousands of tests, which takes about
    half a second.
    """
    gc.freeze()
