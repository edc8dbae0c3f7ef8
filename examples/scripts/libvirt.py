#!/usr/bin/env python3
"""Acts on libvirt VMs and reports each result, so a retry handles only the rest."""

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
    """Act on one VM."""
    for command in COMMANDS[work["type"]]:
        if command == "wait":
            time.sleep(max(work["duration_seconds"], 0))
        else:
            subprocess.run(
                ["virsh", command, vm], check=True, capture_output=True, text=True
            )


def report(vm: str, status: str, detail: str = "") -> None:
    """Print a report, which the service records immediately."""
    print(json.dumps({"vm": vm, "status": status, "detail": detail}), flush=True)


def main() -> None:
    """Act on all VMs in turn, even if some fail."""
    work = json.load(sys.stdin)
    for vm in work["vms"]:
        try:
            act(vm["name"], work)
        except subprocess.CalledProcessError as error:
            report(vm["name"], "failed", error.stderr.strip())
        else:
            report(vm["name"], "done")


main()
