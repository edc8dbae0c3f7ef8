"""Tables of the fleet: hosts, groups with their last request, VMs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from forewarn.cli.answers import Answer
from forewarn.cli.tables import distance, table, unbroken
from forewarn.cli.toml import Table

_SILENCE = timedelta(hours=24)  # without a request; then Scheduled Events is disabled

_HOSTS = ("HOST", "VMS")
_GROUPS = ("GROUP", "KIND", "SETTINGS", "LISTENING", "VMS")
_VMS = ("VM", "GROUP", "HOST", "UPDATE DOMAIN", "ADDRESSES", "SETTINGS")


def shown_fleet(fleet: Mapping[str, Sequence[Table]], now: datetime) -> str:
    """Lay out the tables of a fleet, omitting empty ones."""
    vms = [Answer(vm) for vm in fleet["vms"]]
    on_host = Counter(vm.text("host") for vm in vms)
    in_group = Counter(vm.text("group") for vm in vms)
    hosts = [host.text("name") or "" for host in map(Answer, fleet["hosts"])]
    tables = (
        (_HOSTS, [(name, str(on_host[name])) for name in hosts]),
        (
            _GROUPS,
            [_group(group, in_group, now) for group in map(Answer, fleet["groups"])],
        ),
        (_VMS, [_vm(vm) for vm in vms]),
    )
    return "\n\n".join(table(header, rows) for header, rows in tables if rows)


def _group(
    group: Answer, members: Mapping[str | None, int], now: datetime
) -> tuple[str, ...]:
    name = group.text("name") or ""
    return (
        name,
        group.text("kind") or "",
        ", ".join(_settings(group)),
        _listening(group, now),
        str(members[name]),
    )


def _settings(group: Answer) -> list[str]:
    notice = group.number("terminate_notice_seconds")
    settings = [] if notice is None else [f"terminate notice {notice} s"]
    settings += [f"approves {text}" for text in group.names("auto_approve")]
    settings += ["isolated"] if group.plain.get("isolated") else []
    return [unbroken(text) for text in settings]


def _listening(group: Answer, now: datetime) -> str:
    last = group.time("last_request")
    last_poll = f", {unbroken(f'asked {distance(last, now)}')}" if last else ""
    if group.text("listening") == "always":
        return f"always{last_poll}"
    listens = last is not None and now - last < _SILENCE
    return f"{'listening' if listens else 'silent'}{last_poll}"


def _vm(vm: Answer) -> tuple[str, ...]:
    return (
        vm.text("name") or "",
        vm.text("group") or "",
        vm.text("host") or "",
        vm.text("update_domain") or "",
        ", ".join(vm.names("addresses")),
        ", ".join(flag for flag in ("spot", "paas") if vm.plain.get(flag)),
    )
