"""Bugs planted on purpose: a trial finds each of them."""

import asyncio
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.faults.judge import judge
from tests.faults.trial import Plan, run_trial
from tests.lanes import SEED

import forewarn

SOURCE = Path(forewarn.__file__).parent


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedBug:
    """A change of the source, and the checks of which one must find it."""

    file: str
    changes: Mapping[str, str]  # each text occurs once
    found_by: frozenset[str]


BUGS: Mapping[str, PlantedBug] = {
    "acknowledges before the commit": PlantedBug(
        file="stores/sqlite.py",
        changes={
            '                cursor.execute("BEGIN IMMEDIATE")\n': (
                "                if not connection.in_transaction:\n"
                '                    cursor.execute("BEGIN IMMEDIATE")\n'
            ),
            '        cursor.execute("COMMIT")\n        self._position': (
                "        if next(_WRITES) % 8 == 0:\n"
                '            cursor.execute("COMMIT")\n        self._position'
            ),
            "_log = logging": "_WRITES = count()\n_log = logging",
        },
        found_by=frozenset({"acknowledged_is_in_journal"}),
    ),
    "forgets idempotency keys at a restart": PlantedBug(
        file="engine/idempotency.py",
        changes={
            "    receipt = snapshot.receipt(once.key)": (
                "    receipt = _RECEIPTS.get(once.key)"
            ),
            "    transaction.keep_receipt(\n": "    _keep(\n",
            "KEPT = timedelta": (
                "_RECEIPTS: dict[str, Receipt] = {}\n\n\n"
                "def _keep(receipt: Receipt, *, forget_before: datetime) -> None:\n"
                "    _RECEIPTS[receipt.key] = receipt\n\n\n"
                "KEPT = timedelta"
            ),
        },
        found_by=frozenset({"command_is_done_once"}),
    ),
    "starts a minute early": PlantedBug(
        file="core/lifecycle/policy.py",
        changes={
            "    return maintenance.is_approved or now >= maintenance.not_before\n": (
                "    soon = now + timedelta(minutes=1)\n"
                "    return maintenance.is_approved or soon >= maintenance.not_before\n"
            )
        },
        found_by=frozenset({"start_waits_for_not_before"}),
    ),
    "calls the driver twice when it continues": PlantedBug(
        file="engine/readers/driver_runner.py",
        changes={
            "            for item in _run_driver(self._driver, work):\n": (
                "            if work.attempt > 1:\n"
                "                again = replace(work, halt=Bell())\n"
                "                [*_run_driver(self._driver, again)]\n"
                "            for item in _run_driver(self._driver, work):\n"
            ),
            "from functools import partial\n": (
                "from dataclasses import replace\nfrom functools import partial\n"
            ),
        },
        found_by=frozenset({"attempt_runs_once"}),
    ),
    "publishes a document under the old incarnation": PlantedBug(
        file="core/lifecycle/settlement.py",
        changes={
            "incarnation=audience.incarnation + 1": (
                "incarnation=max(audience.incarnation, 1)"
            )
        },
        found_by=frozenset({"incarnations", "tag_is_unique"}),
    ),
}


def plant(bug: PlantedBug, folder: Path) -> None:
    """Copy the source to `folder`, with the bug."""
    shutil.copytree(SOURCE, folder / "forewarn")
    file = folder / "forewarn" / bug.file
    text = file.read_text()
    for old, new in bug.changes.items():
        text = text.replace(old, new)
    file.write_text(text)


@pytest.mark.parametrize("name", BUGS)
def test_bugs_can_still_be_planted(name: str) -> None:
    bug = BUGS[name]
    text = (SOURCE / bug.file).read_text()
    assert [old for old in bug.changes if text.count(old) != 1] == []


@pytest.mark.full
@pytest.mark.timeout(400)
@pytest.mark.parametrize("name", BUGS)
def test_planted_bug_is_found(tmp_path: Path, name: str) -> None:
    bug = BUGS[name]
    plant(bug, tmp_path / "source")
    source = tmp_path / "source"
    plan = Plan(seed=str(SEED), seconds=20, source=source, patience=10)
    history = asyncio.run(run_trial(plan, tmp_path))
    violations = judge(history)
    assert bug.found_by & {text.partition(":")[0] for text in violations}, violations
