#!/usr/bin/env python3
"""Acts on Proxmox VE VMs by running `qm` on their nodes, and reports each result.

Not tested with a real cluster, only with fake versions of ssh and qm.
"""

import json
import os
import signal
import subprocess
import sys
import time

SSH = ["ssh", "-o", "BatchMode=yes"]
TARGET = os.environ.get("TARGET")  # destination for Redeploy
MOVED = os.environ.get("MOVED", "echo moved").split()  # runs for each moved VM
FREEZE = 5  # seconds to pause if the duration is unknown
SHUTDOWN = "60"  # seconds allowed for a clean shutdown


def qm(vm: dict, command: str, *options: str) -> list[str]:
    """Return a command for the VM's node; the tag `vmid` is its number there."""
    number = vm["tags"].get("vmid", vm["name"])
    return [*SSH, f"root@{vm['host']}", "qm", command, number, *options]


def run(command: list[str]) -> str:
    """Run a command and return its output; raise if it fails."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def state(vm: dict) -> str:
    """Return `running`, `paused`, `stopped`, `gone` or another state."""
    try:
        return run(qm(vm, "status")).strip().removeprefix("status: ")
    except subprocess.CalledProcessError as error:
        if "does not exist" in error.stderr:
            return "gone"
        raise


def turn_off(vm: dict, was: str) -> None:
    """Power off the VM unless it is already off."""
    if was != "stopped":
        run(qm(vm, "stop"))


def redeploy(vm: dict, was: str, attempt: int) -> None:
    """Move the VM; without TARGET, power it off and on unless it was off before."""
    if TARGET and vm["host"] != TARGET:
        if was == "gone":  # an earlier attempt may have moved it
            run(qm({**vm, "host": TARGET}, "status"))
        else:
            run(qm(vm, "migrate", TARGET, "--online", "1"))
        run([*MOVED, vm["name"], TARGET])
    elif was != "stopped" or attempt > 1:
        turn_off(vm, was)
        run(qm(vm, "start"))


def act(vm: dict, work: dict) -> None:
    """Act on one VM unless the work is already done."""
    was = state(vm)
    match work["type"], was:
        case ("Reboot" | "Preempt", "stopped") | ("Terminate", "gone"):
            pass
        case "Reboot", _:
            run(qm(vm, "reset"))
        case "Redeploy", _:
            redeploy(vm, was, work["attempt"])
        case "Preempt", _:
            run(qm(vm, "shutdown", "--timeout", SHUTDOWN, "--forceStop", "1"))
        case "Terminate", _:  # DELETES ITS DISKS
            turn_off(vm, was)
            run(qm(vm, "destroy", "--purge", "1"))  # and from backup jobs, HA


def freeze(work: dict) -> None:
    """Pause all VMs at the same time; always resume them."""
    frozen = []
    try:
        for vm in work["vms"]:
            was = state(vm)
            if was == "stopped" or (was == "paused" and work["attempt"] == 1):
                report(vm, "done", "was not running")
                continue
            frozen.append(vm)
            run(qm(vm, "suspend"))
        seconds = work["duration_seconds"]
        time.sleep(seconds if seconds >= 0 else FREEZE)
    finally:  # in new sessions, so that SIGKILL does not reach these processes
        ends = [
            subprocess.Popen(qm(vm, "resume"), start_new_session=True) for vm in frozen
        ]
    for vm, end in zip(frozen, ends, strict=True):
        report(vm, "failed" if end.wait() else "done", f"resume: {end.returncode}")


def report(vm: dict, status: str, detail: str = "") -> None:
    """Print a report, which the service records immediately."""
    line = {"vm": vm["name"], "status": status, "detail": detail}
    print(json.dumps(line), flush=True)


def main() -> None:
    """Act on all VMs in turn, even if some fail."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    work = json.load(sys.stdin)
    if work["type"] == "Freeze":
        try:
            freeze(work)
        except subprocess.CalledProcessError as error:
            sys.exit(error.stderr)
        return
    for vm in work["vms"]:
        try:
            act(vm, work)
        except subprocess.CalledProcessError as error:
            report(vm, "failed", error.stderr.strip())
        else:
            report(vm, "done")


main()
