#!/usr/bin/env python3
"""Estimate pi for days, and continue from the checkpoint after a restart.

SIGUSR1 saves a checkpoint. SIGTERM saves one and exits.
"""

import json
import os
import random
import signal
import socket
import sys
from pathlib import Path

FOLDER = Path(os.environ.get("STATE_DIRECTORY") or "/var/lib/simulation")
CHECKPOINT = FOLDER / "checkpoint.json"
DONE = FOLDER / "checkpoint.done"  # the hook's MARKER; written last

TOTAL = int(os.environ.get("SAMPLES") or 10**12)
BATCH = 10_000  # samples; signals are handled between batches


class Simulation:
    """The state that must survive a restart: the counts and the random generator."""

    def __init__(self):
        """Start with no samples."""
        self.samples = self.hits = 0
        self.random = random.Random(1)

    def advance(self):
        """Compute one batch."""
        for _ in range(BATCH):
            x, y = self.random.random(), self.random.random()
            self.hits += x * x + y * y < 1
        self.samples += BATCH

    def dump(self):
        """Return the state as text."""
        state = {"samples": self.samples, "hits": self.hits}
        return json.dumps({**state, "random": self.random.getstate()})

    def load(self, text):
        """Continue from a state that dump() returned."""
        state = json.loads(text)
        self.samples, self.hits = state["samples"], state["hits"]
        version, numbers, following = state["random"]
        self.random.setstate((version, tuple(numbers), following))


def write(path, text):
    """Replace a file; after a power failure, it has either the old or the new text."""
    temporary = path.with_suffix(".new")
    with temporary.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def save(simulation):
    """Write the checkpoint, then the file that the hook waits for."""
    write(CHECKPOINT, simulation.dump())
    write(DONE, f"{simulation.samples}\n")
    print("saved at", simulation.samples, flush=True)


def restore(simulation):
    """Continue from the checkpoint, if there is one."""
    if not CHECKPOINT.exists():
        print("starting at 0", flush=True)
        return
    try:
        simulation.load(CHECKPOINT.read_text())
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"cannot read {CHECKPOINT}: {error}; delete it to start at 0")
    print("continuing at", simulation.samples, flush=True)


def notify_ready():
    """Report to systemd that the checkpoint is loaded (Type=notify)."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        if address.startswith("@"):  # an abstract socket
            address = "\0" + address[1:]
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
            notifier.sendto(b"READY=1", address)


def main():
    """Compute until all samples are done; save when a signal arrives."""
    received = []
    for number in (signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, lambda number, _: received.append(number))
    simulation = Simulation()
    restore(simulation)
    notify_ready()
    while simulation.samples < TOTAL:
        simulation.advance()
        if received:
            numbers, received[:] = set(received), []
            save(simulation)
            if signal.SIGTERM in numbers:
                return
    print("pi is about", 4 * simulation.hits / simulation.samples, flush=True)


if __name__ == "__main__":
    main()
