#!/usr/bin/env python3
"""Acts on VMs of Proxmox VE by `qm` on their nodes, and reports on each.

Not tried against a real cluster: only with commands that stand in for ssh and qm.
"""

import json
import os
import signal
import subprocess
import sys
import time

SSH = ["ssh", "-o", "BatchMode=yes"]
TARGET = os.environ.get("TARGET")  # the node that Redeploy moves VMs to
MOVED = os.environ.get("MOVED", "echo moved").split()  # run for each that has moved
FREEZE = 5  # seconds, if nobody has said how long
SHUTDOWN = "60"  # seconds to shut down in, before the power is cut


def qm(vm: dict, command: str, *options: str) -> list[str]:
    """Write a command for the VM's node; its tag `vmid` is its number there."""
    number = vm["tags"].get("vmid", vm["name"])
    return [*SSH, f"root@{vm['host']}", "qm", command, number, *options]


def run(command: list[str]) -> str:
    """Run a command, which must succeed; answer what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def state(vm: dict) -> str:
    """Tell whether it is `running`, `paused`, `stopped` or `gone`, if not another."""
    try:
        return run(qm(vm, "status")).strip().removeprefix("status: ")
    except subprocess.CalledProcessError as error:
        if "does not exist" in error.stderr:
            return "gone"
        raise


def turn_off(vm: dict, was: str) -> None:
    """Cut the power, if it is on."""
    if was != "stopped":
        run(qm(vm, "stop"))


def redeploy(vm: dict, was: str, attempt: int) -> None:
    """Move it; without a TARGET it is off and on, unless it was off before."""
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
    """Do what is to be done on one VM, unless it is done."""
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
        case "Terminate", _:  # ITS DISKS GO, too, and it leaves backup jobs and HA
            turn_off(vm, was)
            run(qm(vm, "destroy", "--purge", "1"))


def freeze(work: dict) -> None:
    """Pause all VMs together; whatever happens, they are resumed."""
    frozen = []
    try:
        for vm in work["vms"]:
            was = state(vm)
            if was == "stopped" or (was == "paused" and work["attempt"] == 1):
                report(vm, "done", "it was not running")
                continue
            frozen.append(vm)
            run(qm(vm, "suspend"))
        seconds = work["duration_seconds"]
        time.sleep(seconds if seconds >= 0 else FREEZE)
    finally:  # in sessions of their own, where no KILL reaches them
        ends = [
            subprocess.Popen(qm(vm, "resume"), start_new_session=True) for vm in frozen
        ]
    for vm, end in zip(frozen, ends, strict=True):
        report(vm, "failed" if end.wait() else "done", f"resume: {end.returncode}")


def report(vm: dict, status: str, detail: str = "") -> None:
    """Print a line that the service writes down at once."""
    line = {"vm": vm["name"], "status": status, "detail": detail}
    print(json.dumps(line), flush=True)


def main() -> None:
    """Act on one VM after the other; one that fails does not keep the others."""
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
