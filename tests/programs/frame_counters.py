"""Counters of the frames that arrive at the hypervisor and at machines."""

import json

from tests.programs.frames import SOURCE_PORT
from tests.programs.hypervisor import HERE, Hypervisor
from tests.programs.network import ENDPOINT

#: An address that must not be forwarded.
LINK_LOCAL = "169.254.7.7"

_OPENING = "tcp flags & (syn | rst) == syn"

#: Packets accepted by the hypervisor, after the rules of the page.
_TAKEN = {
    "openings": f"tcp sport {SOURCE_PORT} {_OPENING}",
    "seeking": "udp dport 67",
}

#: Packets that arrive at a machine's interface.
_COME = {
    "requests": f"ip daddr {ENDPOINT}",
    "answers": f"ip saddr {ENDPOINT}",
    "questions": f"arp daddr ip {ENDPOINT}",
    "presence": f"arp saddr ip {ENDPOINT}",
    "probes": "arp saddr ip 0.0.0.0",
    "to-link-local": f"ip daddr {LINK_LOCAL} {_OPENING}",
    "from-link-local": f"ip saddr {LINK_LOCAL} {_OPENING}",
}


def watch(hypervisor: Hypervisor) -> None:
    """Start counting."""
    for machine in hypervisor.machines:
        if machine == HERE:
            hook, family, rules = "input priority 100", "inet", _TAKEN
        else:
            hook, family, rules = 'ingress device "eth0" priority 0', "netdev", _COME
        counters = [f"counter {name} {{ }}" for name in rules]
        lines = [f"{rule} counter name {name}" for name, rule in rules.items()]
        chain = ["chain watch {", f"type filter hook {hook};", *lines, "}"]
        table = "\n".join([f"table {family} watch {{", *counters, *chain, "}"])
        hypervisor.machines[machine].do("nft", table)


def arrived(hypervisor: Hypervisor, what: str, machine: str = HERE) -> int:
    """Return how many have arrived at `machine` since the previous call."""
    family = "inet" if machine == HERE else "netdev"
    done = hypervisor.on(
        machine, "nft", "-j", "reset", "counter", family, "watch", what
    )
    (_, counter) = json.loads(done.out)["nftables"]
    return int(counter["counter"]["packets"])
