"""Rows for causes that affect a whole host."""

from dataclasses import replace
from datetime import timedelta

from tests.stories.support.harness import NOON, rfc3339
from tests.stories.support.rows import (
    CANCELED,
    COMPLETED,
    DAYS,
    FAILURE,
    MINUTES,
    REDEPLOY,
    REPAIR,
    SCHEDULED,
    STARTED,
    Advance,
    Approve,
    ExpectedMaintenance,
    Row,
    Step,
    immediate,
    last,
    planned,
    post,
    repost,
)

ON_A = (("web", ["web-0"]), ("db", ["db-0"]), ("lone", ["lone"]))
#: Two update domains of db are on host-b: no event lists both.
ON_B = (("web", ["web-1"]), ("db", ["db-1"]), ("db", ["db-2"]))
ON_C = (("roles", ["FrontEnd_IN_0"]), ("gpu", ["gpu_0"]))

FREEZE = ExpectedMaintenance(
    type="Freeze", host="host-a", notice=900, duration=9, events=ON_A
)
WORN = ExpectedMaintenance(
    type="Redeploy",
    host="host-a",
    cause="degraded",
    notice=7 * DAYS,
    description=REPAIR,
    events=(("db", ["db-0"]),),
)
#: Each group leaves a degraded host on its own.
LEAVING = {
    "db": WORN,
    "lone": replace(WORN, events=(("lone", ["lone"]),)),
    "web": replace(WORN, events=(("web", ["web-0"]),)),
}
DEAD = ExpectedMaintenance(
    type="Reboot",
    host="host-a",
    cause="host-failure",
    notice=None,
    description=FAILURE,
    events=ON_A,
)
FAILS_ON_THE_THIRD_DAY = {"fails_by": rfc3339(NOON + timedelta(days=3))}

ROWS = (
    planned(
        "maintained: a Freeze unless it is said otherwise",
        "hosts/host-a/maintain",
        FREEZE,
        lasts=9,
    ),
    Row(
        name="maintained by a Reboot that all approve",
        acts={"m": replace(FREEZE, type="Reboot", duration=-1)},
        steps=(
            post("hosts/host-a/maintain", {"type": "reboot"}, then={"m": SCHEDULED}),
            Step(do=Approve(act="m", vm="web-2", event=0)),
            Step(do=Approve(act="m", vm=None, event=1)),
            Step(do=Approve(act="m", vm="lone", event=2), then={"m": STARTED}),
            *last("m"),
        ),
    ),
    planned(
        "maintained by a Redeploy, with two update domains of a group",
        "hosts/host-b/maintain",
        ExpectedMaintenance(
            type="Redeploy", host="host-b", notice=10 * MINUTES, events=ON_B
        ),
        {"type": "Redeploy"},
    ),
    planned(
        "maintained with words and times of the operator's own",
        "hosts/host-c/maintain",
        ExpectedMaintenance(
            type="Freeze",
            host="host-c",
            notice=20 * MINUTES,
            duration=30,
            description="A new switch.",
            reason="ticket 7",
            events=ON_C,
        ),
        {
            "notice_seconds": 20 * MINUTES,
            "duration_seconds": 30,
            "description": "A new switch.",
            "reason": "ticket 7",
        },
        lasts=30,
    ),
    Row(
        name="degraded: seven days",
        acts=LEAVING,
        steps=(
            post("hosts/host-a/degraded", then=dict.fromkeys(LEAVING, SCHEDULED)),
            Step(do=Advance(seconds=7 * DAYS - 1)),
            Step(do=Advance(seconds=1), then=dict.fromkeys(LEAVING, STARTED)),
            Step(do=Advance(seconds=4)),
            Step(do=Advance(seconds=1), then=dict.fromkeys(LEAVING, COMPLETED)),
            repost("hosts/host-a/degraded", concerned=[]),
        ),
    ),
    Row(
        name="degraded, and one group approves",
        acts=LEAVING,
        steps=(
            post("hosts/host-a/degraded", then=dict.fromkeys(LEAVING, SCHEDULED)),
            Step(do=Approve(act="db", vm="db-1"), then={"db": STARTED}),
            *last("db"),
            repost("hosts/host-a/degraded", concerned=["lone", "web"]),
        ),
    ),
    Row(
        name="degraded, and one owner redeploys",
        acts={
            **LEAVING,
            "own": ExpectedMaintenance(
                type="Redeploy",
                source="User",
                cause="user-redeploy",
                notice=600,
                description=REDEPLOY,
                events=(("web", ["web-0"]),),
            ),
        },
        steps=(
            post("hosts/host-a/degraded", then=dict.fromkeys(LEAVING, SCHEDULED)),
            post("vms/web-0/redeploy", then={"own": SCHEDULED}),
            Step(do=Approve(act="own", vm="web-0"), then={"own": STARTED}),
            Step(do=Approve(act="web", vm="web-1")),  # it waits for the other one
            Step(do=Advance(seconds=4)),
            Step(do=Advance(seconds=1), then={"own": COMPLETED, "web": CANCELED}),
            repost("hosts/host-a/degraded", concerned=["db", "lone"]),
        ),
    ),
    Row(
        name="degraded, and then predicted to fail sooner",
        acts={
            **LEAVING,
            **{
                f"{label} sooner": replace(act, notice=2 * DAYS)
                for label, act in LEAVING.items()
            },
        },
        steps=(
            post("hosts/host-a/degraded", then=dict.fromkeys(LEAVING, SCHEDULED)),
            Step(do=Advance(seconds=1 * DAYS)),
            post(
                "hosts/host-a/degraded",
                FAILS_ON_THE_THIRD_DAY,
                then={
                    **dict.fromkeys(LEAVING, CANCELED),
                    **{f"{label} sooner": SCHEDULED for label in LEAVING},
                },
            ),
            Step(do=Advance(seconds=2 * DAYS - 1)),
            Step(
                do=Advance(seconds=1),
                then={f"{label} sooner": STARTED for label in LEAVING},
            ),
        ),
    ),
    Row(
        name="degraded, and well again",
        acts=LEAVING,
        steps=(
            post("hosts/host-a/degraded", then=dict.fromkeys(LEAVING, SCHEDULED)),
            repost(
                "hosts/host-a/recovered",
                concerned=[*LEAVING],
                then=dict.fromkeys(LEAVING, CANCELED),
            ),
        ),
    ),
    immediate(
        "failed, for a time that is known",
        "hosts/host-a/failed",
        replace(DEAD, duration=600, reason="fuse"),
        {"duration_seconds": 600, "reason": "fuse"},
        lasts=600,
    ),
    Row(
        name="failed twice, of which VMs are notified once, and well again",
        acts={"m": DEAD},
        steps=(
            post("hosts/host-a/failed", then={"m": STARTED}),
            repost("hosts/host-a/failed", concerned=["m"]),
            Step(do=Advance(seconds=1 * DAYS)),
            repost("hosts/host-a/recovered", concerned=["m"], then={"m": COMPLETED}),
        ),
    ),
)
