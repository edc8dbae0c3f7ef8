"""Rows for announcements by an operator."""

from dataclasses import replace

from tests.stories.rows import (
    COMPLETED,
    MINUTES,
    REDEPLOY,
    REPAIR,
    RESTART,
    SCHEDULED,
    STARTED,
    Advance,
    ExpectedMaintenance,
    Row,
    Step,
    last,
    post,
    wait_for_notice,
)

WEB = [("web", ["web-0"])]
REBOOT = ExpectedMaintenance(type="Reboot", notice=15 * MINUTES, events=WEB)
TERMINATE = replace(
    REBOOT,
    type="Terminate",
    source="User",
    cause="scale-in",
    notice=5 * MINUTES,
    description="",
)
SMOKE = {"type": "Reboot", "vms": ["web-0"], "emergency": True, "reason": "smoke"}
LONG_SMOKE = {**SMOKE, "duration_seconds": 60}
EMERGENCY = replace(REBOOT, notice=None, description=REPAIR, reason="smoke")


def announced(
    name: str, act: ExpectedMaintenance, lasts: int = 5, **body: object
) -> Row:
    """Return a row in which nobody approves and no VM leaves the fleet."""
    ((_, vms),) = act.events
    request = {"type": act.type, "vms": [*vms], **body}
    return Row(
        name=name,
        acts={"m": act},
        steps=(
            post("maintenances", request, then={"m": SCHEDULED}),
            *wait_for_notice("m", act.notice or 0),
            *last("m", lasts),
        ),
    )


TYPES = (
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
        "a Terminate is announced, where the notice is set",
        replace(TERMINATE, notice=600, events=[("batch", ["batch_0"])]),
    ),
    announced(
        "a Reboot is announced for a user",
        replace(REBOOT, source="User", cause="user-restart", description=RESTART),
        source="user",
    ),
    announced(
        "a Redeploy is announced for a user",
        replace(
            REBOOT,
            type="Redeploy",
            source="User",
            cause="user-redeploy",
            notice=10 * MINUTES,
            description=REDEPLOY,
        ),
        source="User",
    ),
    announced(
        "a Reboot is announced to a silent group",
        replace(REBOOT, events=[("quiet", ["quiet-0"])]),
    ),
    announced(
        "a Freeze without interruption is announced to a role",
        replace(
            REBOOT, type="Freeze", duration=0, events=[("roles", ["FrontEnd_IN_1"])]
        ),
        duration_seconds=0,
    ),
)

MANY = (
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
    Row(
        name="two VMs of one update domain are announced: one act",
        acts={"m": replace(REBOOT, events=[("web", ["web-2", "web-10"])])},
        steps=(
            post(
                "maintenances",
                {"type": "Reboot", "vms": ["web-10", "web-2"]},
                then={"m": SCHEDULED},
            ),
            *wait_for_notice("m", 15 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="two spot VMs are to go: one act each",
        acts={
            name: replace(
                REBOOT,
                type="Preempt",
                cause="eviction",
                notice=30,
                description="",
                events=[("pool", [name])],
            )
            for name in ("pool_0", "pool_1")
        },
        steps=(
            post(
                "maintenances",
                {"type": "Preempt", "vms": ["pool_0", "pool_1"]},
                then=dict.fromkeys(("pool_0", "pool_1"), SCHEDULED),
            ),
            Step(do=Advance(seconds=29)),
            Step(
                do=Advance(seconds=1),
                then=dict.fromkeys(("pool_0", "pool_1"), STARTED),
            ),
            Step(do=Advance(seconds=4)),
            Step(
                do=Advance(seconds=1),
                then=dict.fromkeys(("pool_0", "pool_1"), COMPLETED),
            ),
        ),
    ),
)

EMERGENCIES = (
    Row(
        name="an emergency without notice",
        acts={"m": EMERGENCY},
        steps=(post("maintenances", SMOKE, then={"m": STARTED}), *last("m")),
    ),
    Row(
        name="an emergency with a minute of notice",
        acts={"m": replace(EMERGENCY, notice=60)},
        steps=(
            post(
                "maintenances", {**SMOKE, "notice_seconds": 60}, then={"m": SCHEDULED}
            ),
            *wait_for_notice("m", 60),
            *last("m"),
        ),
    ),
    Row(
        name="an emergency without notice behind a gate: Scheduled, its time blank",
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
    Row(
        name="an emergency that no gate holds",
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
            post(
                "maintenances",
                {**SMOKE, "vms": ["web-1"], "ignore_gates": True},
                then={"m": STARTED},
            ),
            *last("m"),
            Step(do=Advance(seconds=54)),
            Step(do=Advance(seconds=1), then={"first": COMPLETED}),
        ),
    ),
    Row(
        name="an emergency on a host",
        acts={
            "m": replace(
                EMERGENCY,
                type="Redeploy",
                host="host-c",
                events=[("roles", ["FrontEnd_IN_0"]), ("gpu", ["gpu_0"])],
            )
        },
        steps=(
            post(
                "hosts/host-c/maintain",
                {"type": "redeploy", "emergency": True, "reason": "smoke"},
                then={"m": STARTED},
            ),
            *last("m"),
        ),
    ),
)

ROWS = (*TYPES, *MANY, *EMERGENCIES)
