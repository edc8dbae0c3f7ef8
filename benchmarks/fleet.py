"""Fleet of any size, with every kind of group, on shared hosts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_VMS_ON_A_HOST = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupShape:
    """A kind of group: its size, and its settings in the fleet file."""

    kind: str
    size: int
    update_domains: int = 0  # 0 if the group has none
    settings: str = ""
    vm_settings: str = ""


#: A hundred VMs; larger fleets repeat these groups.
_SHAPES = (
    *[GroupShape(kind="availability-set", size=10, update_domains=5)] * 4,
    # Not spot VMs: those leave the fleet when they are preempted.
    *[GroupShape(kind="scale-set", size=15)] * 2,
    GroupShape(
        kind="cloud-service", size=10, update_domains=2, vm_settings="paas = true\n"
    ),
    GroupShape(kind="scale-set", size=10, settings="isolated = true\n"),
    *[GroupShape(kind="standalone", size=1)] * 10,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetVm:
    """One VM of the fleet."""

    name: str
    group: str
    audience: str  # VMs of one audience receive the same document
    host: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """The machines, and the text of their fleet file."""

    machines: Sequence[FleetVm]
    text: str

    @property
    def hosts(self) -> Sequence[str]:
        """The names of all hosts."""
        return [*dict.fromkeys(machine.host for machine in self.machines)]

    @property
    def groups(self) -> Sequence[str]:
        """The names of all groups."""
        return [*dict.fromkeys(machine.group for machine in self.machines)]


def a_fleet(vms: int) -> Fleet:
    """Create a fleet of `vms` machines."""
    hosts = max(vms // _VMS_ON_A_HOST, 1)
    machines: list[FleetVm] = []
    text = "".join(f'[[hosts]]\nname = "host-{number}"\n' for number in range(hosts))
    for group, shape in _groups(vms):
        text += _group_table(group, shape)
        for number in range(shape.size):
            alone = shape.kind == "standalone"
            name = group if alone else f"{group}-{number}"
            isolated = "isolated" in shape.settings
            host = f"host-{len(machines) % hosts}"
            machines.append(
                FleetVm(
                    name=name,
                    group=group,
                    audience=f"{group}/{name}" if isolated else group,
                    host=host,
                )
            )
            text += _vm_table(machines[-1], number, shape)
    return Fleet(machines=machines, text=text)


def _groups(vms: int) -> Iterator[tuple[str, GroupShape]]:
    """Yield groups for `vms` machines; the last ones are standalone VMs."""
    total = number = 0
    while total < vms:
        shape = _SHAPES[number % len(_SHAPES)]
        if total + shape.size > vms:
            shape = _SHAPES[-1]
        yield f"g{number}", shape
        total += shape.size
        number += 1


def _group_table(name: str, shape: GroupShape) -> str:
    return f'[[groups]]\nname = "{name}"\nkind = "{shape.kind}"\n{shape.settings}'


def _vm_table(machine: FleetVm, number: int, shape: GroupShape) -> str:
    text = f'[[vms]]\nname = "{machine.name}"\ngroup = "{machine.group}"\n'
    text += f'host = "{machine.host}"\n{shape.vm_settings}'
    if shape.update_domains:
        text += f"update_domain = {number % shape.update_domains}\n"
    return text
