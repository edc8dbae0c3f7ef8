"""Rows for user operations on a VM, and for evictions."""

from dataclasses import replace

from tests.stories.rows import (
    MINUTES,
    REDEPLOY,
    RESTART,
    SCHEDULED,
    STARTED,
    Approve,
    ExpectedMaintenance,
    Poll,
    Row,
    Step,
    last,
    post,
    wait_for_notice,
)

RESTARTED = ExpectedMaintenance(
    type="Reboot",
    source="User",
    cause="user-restart",
    notice=15 * MINUTES,
    description=RESTART,
    events=[("web", ["web-0"])],
)
REDEPLOYED = replace(
    RESTARTED,
    type="Redeploy",
    cause="user-redeploy",
    notice=10 * MINUTES,
    description=REDEPLOY,
)
REIMAGED = replace(RESTARTED, cause="reimage", description="")
EVICTED = ExpectedMaintenance(
    type="Preempt",
    cause="eviction",
    notice=30,
    description="",
    events=[("pool", ["pool_1"])],
)
DELETED = ExpectedMaintenance(
    type="Terminate",
    source="User",
    cause="scale-in",
    notice=None,
    description="",
    events=[("pool", ["pool_0"])],
)
QUIET = [("quiet", ["quiet-0"])]
SWIFT = [("swift", ["swift-0"])]

RESTARTS = (
    Row(
        name="a user restarts a VM whose group listens",
        acts={"m": RESTARTED},
        steps=(
            post("vms/web-0/restart", then={"m": SCHEDULED}),
            *wait_for_notice("m", 15 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="a user restarts a VM, and another of its group approves",
        acts={"m": RESTARTED},
        steps=(
            post("vms/web-0/restart", then={"m": SCHEDULED}),
            Step(do=Approve(act="m", vm="web-10"), then={"m": STARTED}),
            *last("m"),
        ),
    ),
    Row(
        name="a user restarts a VM with words and times of his own",
        acts={
            "m": replace(
                RESTARTED,
                notice=3600,
                duration=40,
                description="New kernel.",
                reason="CVE",
            )
        },
        steps=(
            post(
                "vms/web-0/restart",
                {
                    "notice_seconds": 3600,
                    "duration_seconds": 40,
                    "description": "New kernel.",
                    "reason": "CVE",
                },
                then={"m": SCHEDULED},
            ),
            *wait_for_notice("m", 3600),
            *last("m", 40),
        ),
    ),
    Row(
        name="a user restarts a VM whose group is silent",
        acts={"m": replace(RESTARTED, notice=None, events=QUIET)},
        steps=(post("vms/quiet-0/restart", then={"m": STARTED}), *last("m")),
    ),
    Row(
        name="a user restarts a VM whose neighbour has just asked",
        acts={"m": replace(RESTARTED, events=QUIET)},
        steps=(
            Step(do=Poll(vm="quiet-1")),
            post("vms/quiet-0/restart", then={"m": SCHEDULED}),
            *wait_for_notice("m", 15 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="a user restarts a VM whose group approves that beforehand",
        acts={"m": replace(RESTARTED, notice=None, events=SWIFT, approved="policy")},
        steps=(post("vms/swift-0/restart", then={"m": STARTED}), *last("m")),
    ),
    Row(
        name="a user redeploys a VM whose group listens",
        acts={"m": REDEPLOYED},
        steps=(
            post("vms/web-0/redeploy", then={"m": SCHEDULED}),
            *wait_for_notice("m", 10 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="a user redeploys a VM whose group is silent",
        acts={"m": replace(REDEPLOYED, notice=None, events=QUIET)},
        steps=(post("vms/quiet-0/redeploy", then={"m": STARTED}), *last("m")),
    ),
    Row(
        name="a user redeploys a VM whose group approves that beforehand",
        acts={"m": replace(REDEPLOYED, notice=None, events=SWIFT, approved="policy")},
        steps=(post("vms/swift-0/redeploy", then={"m": STARTED}), *last("m")),
    ),
    Row(
        name="a user gives a VM a new image",
        acts={"m": REIMAGED},
        steps=(
            post("vms/web-0/reimage", then={"m": SCHEDULED}),
            *wait_for_notice("m", 15 * MINUTES),
            *last("m"),
        ),
    ),
    Row(
        name="a user gives a VM of a silent group a new image",
        acts={"m": replace(REIMAGED, notice=None, events=QUIET)},
        steps=(
            post("vms/quiet-0/reimage", {"source": "user"}, then={"m": STARTED}),
            *last("m"),
        ),
    ),
    Row(
        name="the platform gives a VM a new image, whether its group listens or not",
        acts={"m": replace(REIMAGED, source="Platform", events=QUIET)},
        steps=(
            post("vms/quiet-0/reimage", {"source": "platform"}, then={"m": SCHEDULED}),
            *wait_for_notice("m", 15 * MINUTES),
            *last("m"),
        ),
    ),
)

ENDS = (
    Row(
        name="a spot VM is evicted, and stays in the fleet",
        acts={"m": EVICTED},
        steps=(
            post("vms/pool_1/evict", then={"m": SCHEDULED}),
            *wait_for_notice("m", 30),
            *last("m"),
        ),
    ),
    Row(
        name="a spot VM is evicted, and gives way early",
        acts={"m": EVICTED},
        steps=(
            post("vms/pool_1/evict", then={"m": SCHEDULED}),
            Step(do=Approve(act="m", vm="pool_1"), then={"m": STARTED}),
            *last("m"),
        ),
    ),
    Row(
        name="a VM is deleted from a scale set with terminate notice",
        acts={"m": replace(DELETED, notice=600, events=[("batch", ["batch_0"])])},
        steps=(
            post("vms/batch_0/delete", then={"m": SCHEDULED}),
            *wait_for_notice("m", 600),
            *last("m", gone=["batch_0"]),
        ),
    ),
    Row(
        name="a VM is deleted from a scale set with terminate notice, and approves",
        acts={"m": replace(DELETED, notice=600, events=[("batch", ["batch_0"])])},
        steps=(
            post("vms/batch_0/delete", then={"m": SCHEDULED}),
            Step(do=Approve(act="m", vm="batch_0"), then={"m": STARTED}),
            *last("m", gone=["batch_0"]),
        ),
    ),
    Row(
        name="a VM is deleted from a scale set without terminate notice",
        acts={"m": DELETED},
        steps=(
            post("vms/pool_0/delete", then={"m": STARTED}),
            *last("m", gone=["pool_0"]),
        ),
    ),
    Row(
        name="a VM on its own is deleted",
        acts={"m": replace(DELETED, events=[("lone", ["lone"])])},
        steps=(
            post("vms/lone/delete", then={"m": STARTED}),
            *last("m", gone=["lone"]),
        ),
    ),
    Row(
        name="a spot VM is deleted from a scale set with terminate notice",
        acts={"m": replace(DELETED, events=[("batch", ["batch_2"])])},
        steps=(
            post("vms/batch_2/delete", then={"m": STARTED}),
            *last("m", gone=["batch_2"]),
        ),
    ),
)

ROWS = (*RESTARTS, *ENDS)
