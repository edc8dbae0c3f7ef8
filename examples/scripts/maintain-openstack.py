#!/usr/bin/env python3
"""Acts on servers of OpenStack by its own client, and reports on each.

Not tried against a real cloud: only with a command that stands in for the client.
"""

import json
import os
import signal
import subprocess
import sys
import time

TARGET = os.environ.get("TARGET")  # where Redeploy moves servers; else Nova chooses
MOVED = os.environ.get("MOVED", "echo moved").split()  # run for each that has moved
FREEZE = 5  # seconds, if nobody has said how long
PATIENCE = 300  # seconds for a change of state
HOST = "OS-EXT-SRV-ATTR:host"  # administrators see it


def openstack(vm: dict, *words: str) -> list[str]:
    """Write a command for a server, which `vm_id` identifies, or else its name."""
    api = ["--os-compute-api-version", "2.30"]  # the first that checks a --host
    return ["openstack", *api, "server", *words, vm["vm_id"] or vm["name"]]


def run(command: list[str]) -> str:
    """Run a command, which must succeed; answer what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def shown(vm: dict, column: str) -> str:
    """Read one thing about the server."""
    return run(openstack(vm, "show", "-f", "value", "-c", column)).strip()


def state(vm: dict) -> str:
    """Tell whether it is ACTIVE, PAUSED, SHUTOFF or GONE, if not another."""
    try:
        return shown(vm, "status")
    except subprocess.CalledProcessError as error:
        if "no server" in error.stderr.lower():
            return "GONE"
        raise


def change(vm: dict, command: str, to: str) -> None:
    """Give a command that only begins a change, and wait for its end."""
    run(openstack(vm, command))
    until = time.monotonic() + PATIENCE
    while (now := state(vm)) != to:
        if now == "ERROR" or time.monotonic() > until:
            detail = f"after {command} it is {now}, not {to}"
            raise subprocess.CalledProcessError(1, command, stderr=detail)
        time.sleep(1)


def move(vm: dict) -> None:
    """Move it while it runs, unless it has left its host already."""
    if shown(vm, HOST) == vm["host"]:
        where = ["--host", TARGET] if TARGET else []
        run(openstack(vm, "migrate", "--live-migration", "--wait", *where))
    now = shown(vm, HOST)
    if now == vm["host"]:  # the client does not fail when the migration does
        detail = f"it is still on {now}; see: openstack server migration list"
        raise subprocess.CalledProcessError(1, "migrate", stderr=detail)
    run([*MOVED, vm["name"], now])


def act(vm: dict, work: dict) -> None:
    """Do what is to be done on one server, unless it is done."""
    was = state(vm)
    match work["type"], was:
        case ("Reboot" | "Redeploy" | "Preempt", "SHUTOFF") | ("Terminate", "GONE"):
            pass  # what is off stays off, and where it is
        case "Reboot", _:
            run(openstack(vm, "reboot", "--hard", "--wait"))
        case "Redeploy", _:
            move(vm)
        case "Preempt", _:
            change(vm, "stop", to="SHUTOFF")
        case "Terminate", _:  # ITS DISKS GO, save volumes that are to outlive it
            run(openstack(vm, "delete", "--wait"))


def freeze(work: dict) -> None:
    """Pause all VMs together; whatever happens, they are resumed."""
    frozen = []
    try:
        for vm in work["vms"]:
            was = state(vm)
            if was == "SHUTOFF" or (was == "PAUSED" and work["attempt"] == 1):
                report(vm, "done", "it was not running")
                continue
            frozen.append(vm)
            if was != "PAUSED":
                change(vm, "pause", to="PAUSED")
        seconds = work["duration_seconds"]
        time.sleep(seconds if seconds >= 0 else FREEZE)
    finally:  # in sessions of their own, where no KILL reaches them
        ends = [
            subprocess.Popen(openstack(vm, "unpause"), start_new_session=True)
            for vm in frozen
        ]
    for vm, end in zip(frozen, ends, strict=True):
        report(vm, "failed" if end.wait() else "done", f"unpause: {end.returncode}")


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
