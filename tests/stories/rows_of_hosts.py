"""Rows for causes that affect a whole host."""

from dataclasses import replace

from tests.stories.rows import (
    CANCELED,
    MINUTES,
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
    wait_for_notice,
)

ON_A = (("web", ["web-0"]), ("db", ["db-0"]), ("lone", ["lone"]))
#: Two update domains of db are on host-b: no event lists both.
ON_B = (("web", ["web-1"]), ("db", ["db-1"]), ("db", ["db-2"]))
ON_C = (("roles", ["FrontEnd_IN_0"]), ("gpu", ["gpu_0"]))

FREEZE = ExpectedMaintenance(
    type="Freeze", host="host-a", notice=900, duration=9, events=ON_A
)

ROWS = (
    Row(
        name="maintained: a Freeze unless it is said otherwise",
        acts={"m": FREEZE},
        steps=(
            post("hosts/host-a/maintain", then={"m": SCHEDULED}),
            *wait_for_notice("m", 15 * MINUTES),
            *last("m", 9),
        ),
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
    Row(
        name="maintained by a Redeploy, with two update domains of a group",
        acts={
            "m": ExpectedMaintenance(
                type="Redeploy", host="host-b", notice=10 * MINUTES, events=ON_B
            )
        },
        steps=(
            post("hosts/host-b/maintain", {"type": "Redeploy"}, then={"m": SCHEDULED}),
            *wait_for_notice("m", 10 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="maintained with words and times of the operator's own",
        acts={
            "m": ExpectedMaintenance(
                type="Freeze",
                host="host-c",
                notice=20 * MINUTES,
                duration=30,
                description="A new switch.",
                reason="ticket 7",
                events=ON_C,
            )
        },
        steps=(
            post(
                "hosts/host-c/maintain",
                {
                    "notice_seconds": 20 * MINUTES,
                    "duration_seconds": 30,
                    "description": "A new switch.",
                    "reason": "ticket 7",
                },
                then={"m": SCHEDULED},
            ),
            *wait_for_notice("m", 20 * MINUTES),
            *last("m", 30),
        ),
    ),
    Row(
        name="maintained, and called off",
        acts={"m": FREEZE},
        steps=(
            post("hosts/host-a/maintain", then={"m": SCHEDULED}),
            Step(do=Advance(seconds=8 * MINUTES)),
            Step(do=OperatorCommand(act="m", what="cancel"), then={"m": CANCELED}),
            Step(do=Advance(seconds=10 * MINUTES)),
        ),
    ),
)
