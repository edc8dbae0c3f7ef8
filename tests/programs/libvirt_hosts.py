"""Two hosts, each with a real libvirt, whose VMs run nothing but firmware.

A host is a set of namespaces: libvirt's state folders are its own, and closing the
input of its first process ends all others. So this machine's libvirt is never touched,
and nothing is left behind.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from uuid import uuid4

from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.programs.network import NetworkNamespace, some_namespaces

PROGRAMS = ("libvirtd", "virsh", "qemu-system-x86_64", "jq", "setsid")
NAMES = ("host-a", "host-b")
FOLDERS: Mapping[str, str] = {
    "etc": "/etc/libvirt",
    "run": "/run/libvirt",
    "lib": "/var/lib/libvirt",
    "log": "/var/log/libvirt",
    "../cache": "/var/cache/libvirt",  # qemu's capabilities are probed only once
}

#: The first process of a host, run in its folder; it also reaps orphans.
_HOST = """\
{mounts}
exec 3<&0
{libvirtd} --config etc/libvirtd.conf --pid-file "$PWD/pid" 3<&- &
{{ cat <&3 >/dev/null; kill $!; }} &
wait %1
"""
_SETTINGS = """\
user = "root"
group = "root"
stdio_handler = "file"
security_driver = "none"
namespaces = []
cgroup_controllers = []
remember_owner = 0
migration_host = "{address}"
"""
_DOMAIN = """\
<domain type="qemu">
  <name>{name}</name>
  <memory unit="MiB">16</memory>
  <os><type arch="x86_64" machine="pc">hvm</type></os>
  <features><acpi/></features>
  <devices>
    <emulator>{emulator}</emulator>
    {disk}
  </devices>
</domain>
"""
#: The format of virsh: time, VM, and detail if there is more than the event's name.
_EVENT = re.compile(r"^(\S+ \S+): event '(.+?)' for domain '(.+?)'(?:: (.+))?$", re.M)
_DISK = '<disk type="file"><source file="{file}"/><target dev="hda"/></disk>'
_A_WHILE = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class LibvirtHosts:
    """Two hosts that can reach each other."""

    folder: Path

    @property
    def uri(self) -> str:
        """Return the libvirt URI with `HOST` as placeholder, as the script
        expects it.
        """
        return f"qemu+unix:///system?socket={self.folder}/HOST/run/libvirt-sock"

    def at(self, host: str) -> str:
        """Return the libvirt URI of `host`."""
        return self.uri.replace("HOST", host)

    def virsh(self, host: str, *words: str) -> str:
        """Run a virsh command, which must succeed."""
        done = self.try_virsh(host, *words)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def try_virsh(self, host: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a virsh command, which may fail."""
        return subprocess.run(
            ["virsh", "-q", "-c", self.at(host), *words],
            capture_output=True,
            text=True,
            timeout=_A_WHILE,
            check=False,
            env={"LC_ALL": "C"},
        )

    def state(self, host: str, vm: str) -> str:
        """Return the state of `vm` on `host`, or `gone` if it is not defined."""
        if vm not in self.virsh(host, "list", "--all", "--name").split():
            return "gone"
        return self.virsh(host, "domstate", vm)

    def start(self, host: str, *vms: str, disk: Path | None = None) -> None:
        """Define and start `vms` on `host`, without a disk unless one is given."""
        emulator = shutil.which("qemu-system-x86_64")
        disk_element = "" if disk is None else _DISK.format(file=disk)
        for vm in vms:
            file = self.folder / f"{vm}.xml"
            file.write_text(
                _DOMAIN.format(name=vm, emulator=emulator, disk=disk_element)
            )
            self.virsh(host, "define", str(file))
            self.virsh(host, "start", vm)

    def remove(self, *vms: str) -> None:
        """Remove `vms` from both hosts."""
        for host in NAMES:
            defined = self.virsh(host, "list", "--all", "--name").split()
            for vm in set(defined).intersection(vms):
                if self.state(host, vm) != "shut off":
                    self.virsh(host, "destroy", vm)
                self.virsh(host, "undefine", vm)

    def happened(self, vm: str) -> list[tuple[datetime, str]]:
        """Return the events of `vm` on host-a with their times."""
        log = (self.folder / "host-a" / "events").read_text()
        return [
            (datetime.fromisoformat(at), detail or event)
            for at, event, name, detail in _EVENT.findall(log)
            if name == vm
        ]

    def events(self, vm: str) -> list[str]:
        """Return the events of `vm` on host-a."""
        return [what for _, what in self.happened(vm)]

    def pause_of(self, vm: str) -> tuple[datetime, datetime]:
        """Return the start and end of the last pause of `vm`; wait for its end."""
        until(lambda: len(self._last_pause(vm)) == 2, _A_WHILE)
        began, ended = self._last_pause(vm)
        return began, ended

    def _last_pause(self, vm: str) -> Sequence[datetime]:
        pause: list[datetime] = []
        for at, what in self.happened(vm):
            if what == "Suspended Paused":
                pause = [at]
            elif what == "Resumed Unpaused" and len(pause) == 1:
                pause.append(at)
        return pause


@contextmanager
def some_hosts(folder: Path) -> Iterator[LibvirtHosts]:
    """Run host-a and host-b until the block ends."""
    hosts = LibvirtHosts(folder=folder)
    (folder / "cache").mkdir()
    with some_namespaces("libvirt") as (place,), ExitStack() as cleanup:
        for number, name in enumerate(NAMES, start=1):
            address = f"10.77.0.{number}"
            place.do("ip", "address", "add", f"{address}/32", "dev", "lo")
            cleanup.enter_context(_a_host(folder / name, place, address))
        for name in NAMES:
            until(partial(_is_reachable, hosts, name), _A_WHILE)
        cleanup.enter_context(_recording_events(hosts, "host-a"))
        yield hosts


def _is_reachable(hosts: LibvirtHosts, name: str) -> bool:
    return hosts.try_virsh(name, "version").returncode == 0


@contextmanager
def _a_host(folder: Path, place: NetworkNamespace, address: str) -> Iterator[None]:
    for name in FOLDERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "etc" / "qemu.conf").write_text(_SETTINGS.format(address=address))
    (folder / "etc" / "libvirtd.conf").write_text(
        f'auth_unix_rw = "none"\nhost_uuid = "{uuid4()}"\n'
    )
    mounts = (
        f"mkdir -p {there} && mount --bind {here} {there}"
        for here, there in FOLDERS.items()
    )
    script = _HOST.format(mounts="\n".join(mounts), libvirtd=shutil.which("libvirtd"))
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            [*place.within, *_spaces(), "sh", "-ec", script],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        with process:  # closes its input and waits
            yield


def _spaces() -> Sequence[str]:
    return ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")


@contextmanager
def _recording_events(hosts: LibvirtHosts, host: str) -> Iterator[None]:
    """Record the events of all VMs on `host`."""
    command = ["virsh", "-c", hosts.at(host)]
    command += ["event", "--all", "--loop", "--timestamp"]
    hosts.start(host, "canary")
    with (hosts.folder / host / "events").open("wb") as output:
        watching = subprocess.Popen(command, stdout=output, env={"LC_ALL": "C"})
        try:
            until(partial(_is_recording, hosts, host), _A_WHILE)
            yield
        finally:
            watching.terminate()
            watching.wait(_A_WHILE)


def _is_recording(hosts: LibvirtHosts, host: str) -> bool:
    hosts.virsh(host, "suspend", "canary")
    hosts.virsh(host, "resume", "canary")
    return bool(hosts.happened("canary"))
