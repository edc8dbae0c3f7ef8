"""Counts what arrives at the hypervisor, and at machines, by kind."""

import json

from tests.programs.frames import SOURCE_PORT
from tests.programs.hypervisor import HERE, Hypervisor
from tests.programs.network import ENDPOINT

#: An address that is nobody's business beyond its own wire.
LINK_LOCAL = "169.254.7.7"

_OPENING = "tcp flags & (syn | rst) == syn"

#: What the hypervisor takes for itself, after the page's rules.
_TAKEN = {
    "openings": f"tcp sport {SOURCE_PORT} {_OPENING}",
    "seeking": "udp dport 67",
}

#: What comes to a machine's card.
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
    """Count from now on."""
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
    """Count what has arrived at `machine` since this was last asked."""
    family = "inet" if machine == HERE else "netdev"
    done = hypervisor.on(
        machine, "nft", "-j", "reset", "counter", family, "watch", what
    )
    (_, told) = json.loads(done.out)["nftables"]
    return int(told["counter"]["packets"])
