#!/usr/bin/env python3
"""Acts on VMs of libvirt, and reports on each: a retry does only what is left."""

import json
import subprocess
import sys
import time

COMMANDS = {
    "Freeze": ["suspend", "wait", "resume"],
    "Reboot": ["reset"],
    "Redeploy": ["destroy", "start"],
    "Preempt": ["destroy"],
    "Terminate": ["destroy", "undefine"],
}


def act(vm: str, work: dict) -> None:
    """Do what is to be done on one VM."""
    for command in COMMANDS[work["type"]]:
        if command == "wait":
            time.sleep(max(work["duration_seconds"], 0))
        else:
            subprocess.run(
                ["virsh", command, vm], check=True, capture_output=True, text=True
            )


def report(vm: str, status: str, detail: str = "") -> None:
    """Print a line that the service writes down at once."""
    print(json.dumps({"vm": vm, "status": status, "detail": detail}), flush=True)


def main() -> None:
    """Act on one VM after the other; one that fails does not keep the others."""
    work = json.load(sys.stdin)
    for vm in work["vms"]:
        try:
            act(vm["name"], work)
        except subprocess.CalledProcessError as error:
            report(vm["name"], "failed", error.stderr.strip())
        else:
            report(vm["name"], "done")


main()
