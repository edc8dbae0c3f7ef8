"""Rows for user operations on a VM, and for evictions."""

from dataclasses import replace

from tests.stories.support.rows import (
    MINUTES,
    REDEPLOY,
    RESTART,
    SCHEDULED,
    STARTED,
    Approve,
    ExpectedMaintenance,
    Row,
    Step,
    immediate,
    last,
    planned,
    post,
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

ROWS = (
    planned("a user restarts a VM whose group listens", "vms/web-0/restart", RESTARTED),
    Row(
        name="a user restarts a VM, and another of its group approves",
        acts={"m": RESTARTED},
        steps=(
            post("vms/web-0/restart", then={"m": SCHEDULED}),
            Step(do=Approve(act="m", vm="web-10"), then={"m": STARTED}),
            *last("m"),
        ),
    ),
    planned(
        "a user restarts a VM with their own words and times",
        "vms/web-0/restart",
        replace(
            RESTARTED, notice=3600, duration=40, description="New kernel.", reason="CVE"
        ),
        {
            "notice_seconds": 3600,
            "duration_seconds": 40,
            "description": "New kernel.",
            "reason": "CVE",
        },
        lasts=40,
    ),
    immediate(
        "a user restarts a VM whose group is disabled",
        "vms/quiet-0/restart",
        replace(RESTARTED, notice=None, events=QUIET),
    ),
    immediate(
        "a user restarts a VM whose group approves that beforehand",
        "vms/swift-0/restart",
        replace(RESTARTED, notice=None, events=SWIFT, approved="policy"),
    ),
    planned(
        "a user redeploys a VM whose group listens", "vms/web-0/redeploy", REDEPLOYED
    ),
    planned("a user gives a VM a new image", "vms/web-0/reimage", REIMAGED),
    planned(
        "the platform gives a VM a new image, whether its group listens or not",
        "vms/quiet-0/reimage",
        replace(REIMAGED, source="Platform", events=QUIET),
        {"source": "platform"},
    ),
    planned(
        "a spot VM is evicted, and leaves the fleet",
        "vms/pool_1/evict",
        EVICTED,
        gone=["pool_1"],
    ),
    planned(
        "a spot VM is evicted, and stays in the fleet deallocated",
        "vms/pool_2/evict",
        replace(EVICTED, events=[("pool", ["pool_2"])]),
    ),
    planned(
        "a VM is deleted from a scale set with terminate notice",
        "vms/batch_0/delete",
        replace(DELETED, notice=600, events=[("batch", ["batch_0"])]),
        gone=["batch_0"],
    ),
    immediate(
        "a VM is deleted from a scale set without terminate notice",
        "vms/pool_0/delete",
        DELETED,
        gone=["pool_0"],
    ),
    immediate(
        "a VM on its own is deleted",
        "vms/lone/delete",
        replace(DELETED, events=[("lone", ["lone"])]),
        gone=["lone"],
    ),
)
