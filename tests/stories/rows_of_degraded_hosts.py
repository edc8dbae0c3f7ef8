"""Rows for degraded and failed hosts."""

from dataclasses import replace
from datetime import timedelta

from tests.stories.harness import NOON, rfc3339
from tests.stories.rows import (
    CANCELED,
    COMPLETED,
    DAYS,
    FAILURE,
    MINUTES,
    REPAIR,
    SCHEDULED,
    STARTED,
    Advance,
    Approve,
    ExpectedMaintenance,
    OperatorCommand,
    Row,
    Step,
    last,
    post,
    repost,
    wait_for_notice,
)
from tests.stories.rows_of_hosts import FREEZE, ON_A

WORN = ExpectedMaintenance(
    type="Redeploy",
    host="host-a",
    cause="degraded",
    notice=7 * DAYS,
    description=REPAIR,
    events=ON_A,
)
DEAD = ExpectedMaintenance(
    type="Reboot",
    host="host-a",
    cause="host-failure",
    notice=None,
    description=FAILURE,
    events=ON_A,
)


def fails_by(seconds: int) -> dict[str, object]:
    """Return a body that predicts a failure `seconds` after noon."""
    return {"fails_by": rfc3339(NOON + timedelta(seconds=seconds))}


DEGRADED = (
    Row(
        name="degraded: seven days",
        acts={"m": WORN},
        steps=(
            post("hosts/host-a/degraded", then={"m": SCHEDULED}),
            *wait_for_notice("m", 7 * DAYS),
            *last("m"),
        ),
    ),
    Row(
        name="degraded, and all move away at once",
        acts={"m": WORN},
        steps=(
            post("hosts/host-a/degraded", then={"m": SCHEDULED}),
            Step(do=Approve(act="m", vm="web-0", event=0)),
            Step(do=Approve(act="m", vm="db-0", event=1)),
            Step(do=Approve(act="m", vm="lone", event=2), then={"m": STARTED}),
            *last("m"),
        ),
    ),
    Row(
        name="degraded, and will not last for seven days",
        acts={"m": replace(WORN, notice=2 * DAYS)},
        steps=(
            post("hosts/host-a/degraded", fails_by(2 * DAYS), then={"m": SCHEDULED}),
            *wait_for_notice("m", 2 * DAYS),
            *last("m"),
        ),
    ),
    Row(
        name="degraded, and will last for longer than seven days",
        acts={"m": WORN},
        steps=(
            post("hosts/host-a/degraded", fails_by(9 * DAYS), then={"m": SCHEDULED}),
            *wait_for_notice("m", 7 * DAYS),
            *last("m"),
        ),
    ),
    Row(
        name="degraded, and will last for less than the least notice",
        acts={"m": replace(WORN, notice=10 * MINUTES)},
        steps=(
            post("hosts/host-a/degraded", fails_by(60), then={"m": SCHEDULED}),
            *wait_for_notice("m", 10 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="degraded, and then predicted to fail sooner",
        acts={"m": WORN, "sooner": replace(WORN, notice=2 * DAYS)},
        steps=(
            post("hosts/host-a/degraded", then={"m": SCHEDULED}),
            Step(do=Advance(seconds=1 * DAYS)),
            post(
                "hosts/host-a/degraded",
                fails_by(3 * DAYS),
                then={"m": CANCELED, "sooner": SCHEDULED},
            ),
            *wait_for_notice("sooner", 2 * DAYS),
            *last("sooner"),
        ),
    ),
    Row(
        name="degraded, and then predicted to last longer",
        acts={"m": replace(WORN, notice=2 * DAYS)},
        steps=(
            post("hosts/host-a/degraded", fails_by(2 * DAYS), then={"m": SCHEDULED}),
            repost("hosts/host-a/degraded", fails_by(3 * DAYS), concerned=["m"]),
            repost("hosts/host-a/degraded", fails_by(2 * DAYS), concerned=["m"]),
            repost("hosts/host-a/degraded", concerned=["m"]),
            *wait_for_notice("m", 2 * DAYS),
            *last("m"),
        ),
    ),
    Row(
        name="degraded, and well again",
        acts={"m": WORN},
        steps=(
            post("hosts/host-a/degraded", then={"m": SCHEDULED}),
            repost("hosts/host-a/recovered", concerned=["m"], then={"m": CANCELED}),
        ),
    ),
)

FAILED = (
    Row(
        name="failed, and well again after a while",
        acts={"m": DEAD},
        steps=(
            post("hosts/host-a/failed", then={"m": STARTED}),
            Step(do=Advance(seconds=1 * DAYS)),
            repost("hosts/host-a/recovered", concerned=["m"], then={"m": COMPLETED}),
        ),
    ),
    Row(
        name="failed, and well again before all could see it",
        acts={"m": DEAD},
        steps=(
            post("hosts/host-a/failed", then={"m": STARTED}),
            Step(do=Advance(seconds=1)),
            repost("hosts/host-a/recovered", concerned=["m"]),
            *last("m", 4),
        ),
    ),
    Row(
        name="failed, and completed by hand",
        acts={"m": DEAD},
        steps=(
            post("hosts/host-a/failed", then={"m": STARTED}),
            Step(do=Advance(seconds=60)),
            Step(do=OperatorCommand(act="m", what="complete"), then={"m": COMPLETED}),
        ),
    ),
    Row(
        name="failed, for a time that is known",
        acts={"m": replace(DEAD, duration=600, reason="fuse")},
        steps=(
            post(
                "hosts/host-a/failed",
                {"duration_seconds": 600, "reason": "fuse"},
                then={"m": STARTED},
            ),
            *last("m", 600),
        ),
    ),
    Row(
        name="failed before its maintenance: that is off",
        acts={"planned": FREEZE, "m": DEAD},
        steps=(
            post("hosts/host-a/maintain", then={"planned": SCHEDULED}),
            post("hosts/host-a/failed", then={"planned": CANCELED, "m": STARTED}),
            Step(do=Advance(seconds=20 * MINUTES)),
            repost("hosts/host-a/recovered", concerned=["m"], then={"m": COMPLETED}),
        ),
    ),
    Row(
        name="failed twice: nobody is told again",
        acts={"m": DEAD},
        steps=(
            post("hosts/host-a/failed", then={"m": STARTED}),
            repost("hosts/host-a/failed", concerned=["m"]),
            Step(do=Advance(seconds=60)),
            repost("hosts/host-a/recovered", concerned=["m"], then={"m": COMPLETED}),
        ),
    ),
)

ROWS = (*DEGRADED, *FAILED)
