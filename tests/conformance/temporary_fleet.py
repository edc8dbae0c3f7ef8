"""Temporary fleet of one test: its own groups, hosts and VMs."""

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

import pytest
from tests.conformance.control import (
    AnnouncedMaintenance,
    Clock,
    ControlClient,
    Plain,
    Refused,
)
from tests.conformance.vm import VM

_LONGEST_END = 15.0  # seconds until completed maintenance is gone
_LIVE = ("SCHEDULED", "STARTED")


@dataclass(slots=True, kw_only=True)
class TemporaryFleet:
    """Groups, hosts and VMs of one test, removed afterwards."""

    control: ControlClient = field(repr=False)
    vm: VM  # an endpoint of the same service
    prefix: str = field(default_factory=lambda: f"conformance-{secrets.token_hex(4)}")
    _made: list[str] = field(
        default_factory=list, repr=False
    )  # paths, in the order of creation
    _announced: list[str] = field(default_factory=list, repr=False)

    def host(self) -> str:
        """Add a host."""
        name = self._name("host")
        self._put(f"/v1/hosts/{name}", {})
        return name

    def group(
        self,
        size: int = 2,
        *,
        kind: str = "availability-set",
        vms: Plain | None = None,
        **settings: object,
    ) -> tuple[VM, ...]:
        """Add a group of `size` VMs with settings `vms`, one per update domain."""
        name = self._name("group")
        self._put(f"/v1/groups/{name}", {"kind": kind, **settings})
        return tuple(
            self.add(f"{name}_{i}", {"group": name, "update_domain": i, **(vms or {})})
            for i in range(size)
        )

    def add_standalone_vm(self, **settings: object) -> VM:
        """Add a VM without a group."""
        return self.add(self._name("vm"), settings)

    def add(self, name: str, settings: Plain) -> VM:
        """Add a VM named `name`."""
        self._put(f"/v1/vms/{name}", settings)
        return self.endpoint_of(name)

    def endpoint_of(self, name: str) -> VM:
        """Return the endpoint of the VM named `name`."""
        root = self.vm.endpoint.partition("/vm/")[0].rstrip("/")
        return replace(self.vm, endpoint=f"{root}/vm/{name}", name=name)

    def announce(self, type: str, *vms: VM, **more: object) -> AnnouncedMaintenance:
        """Announce maintenance of `vms`, or of the host or group in `more`."""
        order = {
            "type": type,
            **({"vms": [v.name for v in vms]} if vms else {}),
            **more,
        }
        return self._announce("/v1/maintenances", order)

    def announce_to_vm(self, type: str = "Reboot", **more: object) -> tuple[VM, str]:
        """Announce an event of the first VM of a new group; return both."""
        (vm, _) = self.group()
        return vm, self.announce(type, vm, **more).event

    def operate(self, vm: VM, operation: str, **more: object) -> AnnouncedMaintenance:
        """Restart, redeploy, reimage, evict or delete `vm`."""
        return self._announce(f"/v1/vms/{vm.name}/{operation}", more)

    def report_host(self, host: str, what: str, **more: object) -> AnnouncedMaintenance:
        """Report a host as degraded or failed."""
        return self._announce(f"/v1/hosts/{host}/{what}", more)

    def _announce(self, path: str, body: Plain) -> AnnouncedMaintenance:
        created = self.control.send("POST", path, body)["maintenances"]
        self._announced += [operation["id"] for operation in created]
        return AnnouncedMaintenance(maintenances=tuple(created))

    def adopt(self, vm: VM) -> None:
        """Remember the events that `vm` sees, to end them with the fleet."""
        for event in vm.events():
            found = self.control.send("GET", f"/v1/maintenances/{event['EventId']}")
            self._announced.append(found["id"])

    def cancel(self, announced: AnnouncedMaintenance) -> None:
        """Cancel all its maintenance."""
        for operation in announced.maintenances:
            self.control.send("POST", f"/v1/maintenances/{operation['id']}/cancel")

    def phase(self, announced: AnnouncedMaintenance) -> str:
        """Return the phase of its only maintenance, from the control API."""
        id = announced.maintenance["id"]
        return str(self.control.send("GET", f"/v1/maintenances/{id}")["phase"])

    def _name(self, noun: str) -> str:
        return f"{self.prefix}-{noun}{len(self._made)}"

    def _put(self, path: str, settings: Plain) -> None:
        self.control.send("PUT", path, settings)
        self._made.append(path)

    # --- cleanup -------------------------------------------------------------

    def end(self) -> None:
        """End everything announced, advancing the clock if it is manual."""
        for id in self._announced:
            for verb in ("cancel", "complete"):
                with suppress(Refused):
                    self.control.send("POST", f"/v1/maintenances/{id}/{verb}")
        if self.is_live and self._is_manual:
            Clock(control=self.control).advance(_LONGEST_END)

    def remove(self) -> None:
        """Remove everything added to the fleet."""
        for path in reversed(self._made):
            try:
                self.control.send("DELETE", path)
            except Refused as error:
                if ": 404 " not in str(error):  # 404: the test deleted it
                    raise

    @property
    def is_live(self) -> bool:
        """Return whether an event is still live."""
        return any(
            self.control.send("GET", f"/v1/maintenances/{id}")["phase"] in _LIVE
            for id in self._announced
        )

    @property
    def _is_manual(self) -> bool:
        return bool(self.control.send("GET", "/v1/clock")["clock"] == "manual")


@contextmanager
def a_temporary_fleet(
    control: ControlClient, vm: VM, leftovers: list[TemporaryFleet]
) -> Iterator[TemporaryFleet]:
    """Set up a fleet; clean it up, or add it to `leftovers` if events are live."""
    fleet = TemporaryFleet(control=control, vm=vm)
    try:
        if fleet.endpoint_of("unknown").send("/metadata/versions").status == 404:
            pytest.skip("needs an endpoint that serves every VM at /vm/NAME/metadata")
        yield fleet
    finally:
        fleet.end()
        if fleet.is_live:
            leftovers.append(fleet)
        else:
            fleet.remove()


def clean_up(leftovers: Sequence[TemporaryFleet]) -> None:
    """Clean up fleets whose events outlived their tests."""
    deadline = time.monotonic() + _LONGEST_END
    for fleet in leftovers:
        while fleet.is_live and time.monotonic() < deadline:
            time.sleep(0.5)
        fleet.remove()
