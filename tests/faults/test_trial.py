"""Promises that hold whatever happens: a trial of the real program under faults."""

import asyncio
from pathlib import Path

import pytest
from tests.faults.judge import judge
from tests.faults.trial import Plan, run_trial
from tests.lanes import SEED, size
from tests.postgres_binaries import MISSING, binaries


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_promises_hold_under_faults(tmp_path: Path, store: str) -> None:
    if store == "postgresql" and binaries() is None:
        pytest.skip(MISSING)
    plan = Plan(seed=str(SEED), seconds=size(12, 120), store=store)
    history = asyncio.run(run_trial(plan, tmp_path))
    assert judge(history) == []
    # The judge had something to judge, even on a slow machine.
    assert len({fault.kind for fault in history.faults}) >= 3
    assert min(len(history.operations), len(history.polls)) >= 40
    assert min(len(history.runs), len(history.deliveries)) >= 5
