"""Rows for announcements by an operator."""

from dataclasses import replace

from tests.stories.support.rows import (
    COMPLETED,
    MINUTES,
    REPAIR,
    SCHEDULED,
    STARTED,
    Advance,
    ExpectedMaintenance,
    Row,
    Step,
    immediate,
    last,
    planned,
    post,
    wait_for_notice,
)

REBOOT = ExpectedMaintenance(
    type="Reboot", notice=15 * MINUTES, events=[("web", ["web-0"])]
)
TERMINATE = replace(
    REBOOT,
    type="Terminate",
    source="User",
    cause="scale-in",
    notice=5 * MINUTES,
    description="",
)
SMOKE = {"type": "Reboot", "vms": ["web-0"], "emergency": True, "reason": "smoke"}
EMERGENCY = replace(REBOOT, notice=None, description=REPAIR, reason="smoke")


def announced(
    name: str, act: ExpectedMaintenance, lasts: int = 5, **body: object
) -> Row:
    """Return a row in which `act` is announced for its VMs."""
    request = {"type": act.type, "vms": act.vms, **body}
    return planned(name, "maintenances", act, request, lasts=lasts)


ROWS = (
    announced(
        "a Freeze is announced", replace(REBOOT, type="Freeze", duration=9), lasts=9
    ),
    announced("a Reboot is announced", REBOOT),
    announced(
        "a Redeploy is announced", replace(REBOOT, type="Redeploy", notice=10 * MINUTES)
    ),
    announced(
        "a Preempt is announced, for a VM that is not spot",
        replace(REBOOT, type="Preempt", notice=30, cause="eviction", description=""),
    ),
    announced("a Terminate is announced, where no notice is set", TERMINATE),
    announced(
        "a Freeze without interruption is announced to a role",
        replace(
            REBOOT, type="Freeze", duration=0, events=[("roles", ["FrontEnd_IN_1"])]
        ),
        duration_seconds=0,
    ),
    announced(
        "two VMs of one update domain are announced: one act",
        replace(REBOOT, events=[("web", ["web-2", "web-10"])]),
        vms=["web-10", "web-2"],
    ),
    Row(
        name="a group is announced: one update domain after the other",
        acts={
            "0": REBOOT,
            "1": replace(REBOOT, events=[("web", ["web-1"])]),
            "2": replace(REBOOT, events=[("web", ["web-2", "web-10"])]),
        },
        steps=(
            post(
                "maintenances",
                {"type": "Reboot", "group": "web"},
                then=dict.fromkeys("012", SCHEDULED),
            ),
            *wait_for_notice("0", 15 * MINUTES),
            Step(do=Advance(seconds=4)),
            Step(do=Advance(seconds=1), then={"0": COMPLETED, "1": STARTED}),
            Step(do=Advance(seconds=4)),
            Step(do=Advance(seconds=1), then={"1": COMPLETED, "2": STARTED}),
            *last("2"),
        ),
    ),
    immediate("an emergency without notice", "maintenances", EMERGENCY, SMOKE),
    Row(
        name="an emergency without notice while blocked: Scheduled, its time blank",
        acts={
            "first": replace(EMERGENCY, duration=60),
            "m": replace(EMERGENCY, events=[("web", ["web-1"])]),
        },
        steps=(
            post(
                "maintenances",
                {**SMOKE, "duration_seconds": 60},
                then={"first": STARTED},
            ),
            post("maintenances", {**SMOKE, "vms": ["web-1"]}, then={"m": SCHEDULED}),
            Step(do=Advance(seconds=59)),
            Step(do=Advance(seconds=1), then={"first": COMPLETED, "m": STARTED}),
            *last("m"),
        ),
    ),
)
