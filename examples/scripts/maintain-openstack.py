#!/usr/bin/env python3
"""Acts on OpenStack servers with the `openstack` client, and reports each result.

Not tested with a real cloud, only with a fake version of the client.
"""

import json
import os
import signal
import subprocess
import sys
import time

TARGET = os.environ.get("TARGET")  # destination for Redeploy; default: Nova chooses
MOVED = os.environ.get("MOVED", "echo moved").split()  # runs for each moved server
FREEZE = 5  # seconds to pause if the duration is unknown
PATIENCE = 300  # seconds to wait for a state change
HOST = "OS-EXT-SRV-ATTR:host"  # visible to administrators only


def openstack(vm: dict, *words: str) -> list[str]:
    """Return a command for a server, identified by `vm_id` or by its name."""
    api = ["--os-compute-api-version", "2.30"]  # the first that validates --host
    return ["openstack", *api, "server", *words, vm["vm_id"] or vm["name"]]


def run(command: list[str]) -> str:
    """Run a command and return its output; raise if it fails."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def shown(vm: dict, column: str) -> str:
    """Read one property of the server."""
    return run(openstack(vm, "show", "-f", "value", "-c", column)).strip()


def state(vm: dict) -> str:
    """Return `ACTIVE`, `PAUSED`, `SHUTOFF`, `GONE` or another state."""
    try:
        return shown(vm, "status")
    except subprocess.CalledProcessError as error:
        if "no server" in error.stderr.lower():
            return "GONE"
        raise


def change(vm: dict, command: str, to: str) -> None:
    """Run a command that only starts a change, and wait until it is complete."""
    run(openstack(vm, command))
    until = time.monotonic() + PATIENCE
    while (now := state(vm)) != to:
        if now == "ERROR" or time.monotonic() > until:
            detail = f"state after {command}: {now}, expected {to}"
            raise subprocess.CalledProcessError(1, command, stderr=detail)
        time.sleep(1)


def move(vm: dict) -> None:
    """Live-migrate the server unless it has already left its host."""
    if shown(vm, HOST) == vm["host"]:
        where = ["--host", TARGET] if TARGET else []
        run(openstack(vm, "migrate", "--live-migration", "--wait", *where))
    now = shown(vm, HOST)
    if now == vm["host"]:  # the client does not report a failed migration
        detail = f"still on {now}; see: openstack server migration list"
        raise subprocess.CalledProcessError(1, "migrate", stderr=detail)
    run([*MOVED, vm["name"], now])


def act(vm: dict, work: dict) -> None:
    """Act on one server unless the work is already done."""
    was = state(vm)
    match work["type"], was:
        case ("Reboot" | "Redeploy" | "Preempt", "SHUTOFF") | ("Terminate", "GONE"):
            pass  # a server that is off stays off, on its host
        case "Reboot", _:
            run(openstack(vm, "reboot", "--hard", "--wait"))
        case "Redeploy", _:
            move(vm)
        case "Preempt", _:
            change(vm, "stop", to="SHUTOFF")
        case "Terminate", _:  # DELETES ITS DISKS, except volumes set to be kept
            run(openstack(vm, "delete", "--wait"))


def freeze(work: dict) -> None:
    """Pause all VMs at the same time; always resume them."""
    frozen = []
    try:
        for vm in work["vms"]:
            was = state(vm)
            if was == "SHUTOFF" or (was == "PAUSED" and work["attempt"] == 1):
                report(vm, "done", "was not running")
                continue
            frozen.append(vm)
            if was != "PAUSED":
                change(vm, "pause", to="PAUSED")
        seconds = work["duration_seconds"]
        time.sleep(seconds if seconds >= 0 else FREEZE)
    finally:  # in new sessions, so that SIGKILL does not reach these processes
        ends = [
            subprocess.Popen(openstack(vm, "unpause"), start_new_session=True)
            for vm in frozen
        ]
    for vm, end in zip(frozen, ends, strict=True):
        report(vm, "failed" if end.wait() else "done", f"unpause: {end.returncode}")


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
