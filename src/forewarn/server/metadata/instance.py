"""Instance metadata: /metadata/instance and /metadata/versions."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from forewarn.core.fleet import VM, Group, GroupKind, eviction_policy_of
from forewarn.formats import base_36
from forewarn.protocol.instance import Node, compute
from forewarn.protocol.versions import INSTANCE_VERSIONS
from forewarn.server.metadata.transport.responses import JSON, TEXT, Response, error

#: Documented names of VMs in a scale set, per orchestration mode. An instance ID has
#: fewer digits than the eight hex digits in a flexible VM's name.
_UNIFORM = re.compile(r"(.+)_(0|[1-9][0-9]{0,6})")
_FLEXIBLE = re.compile(r"(.+)_[0-9a-f]{8}", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInstance:
    """Read instance metadata at `path`."""

    vm: str | None  # None for the VM at the caller's address
    path: tuple[str, ...]
    version: str
    form: str  # `json` or `text`


def versions() -> Response:
    """Return the api-versions of /metadata/instance."""
    return _json({"apiVersions": [*INSTANCE_VERSIONS]})


def read_instance(vm: VM, group: Group, query: ReadInstance) -> Response:
    """Return the metadata tree of `vm`, or the node at the requested path."""
    if query.form not in ("json", "text"):
        return error(400, "Bad request. format must be json or text")
    node = _walk(_tree(vm, group, query.version), query.path)
    if node is None:
        return error(404, "Not found")
    if query.form == "text":
        return Response(200, _text(node).encode(), TEXT)
    if isinstance(node, str):
        return error(400, "Bad request. A single value requires format=text")
    return _json(node)


def _json(node: Node) -> Response:
    body = json.dumps(node, ensure_ascii=False, separators=(",", ":"))
    return Response(200, body.encode(), JSON)


def _walk(node: Node, path: Sequence[str]) -> "Node | None":
    for part in path:
        if isinstance(node, dict):
            folded = part.lower()
            child = next((name for name in node if name.lower() == folded), None)
            if child is None:
                return None
            node = node[child]
        elif isinstance(node, list) and part in map(str, range(len(node))):
            node = node[int(part)]
        else:
            return None
    return node


def _text(node: Node) -> str:
    """Return a value as is, or list a container's children.

    In the list, the names of containers end with a slash.
    """
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return "\n".join(f"{i}/" for i in range(len(node)))
    return "\n".join(n if isinstance(node[n], str) else f"{n}/" for n in node)


# --- values from the fleet ---------------------------------------------------


def _tree(vm: VM, group: Group, version: str) -> Node:
    return {
        "compute": compute(_values(vm, group), version),
        "network": {"interface": [*_interfaces(vm)]},
    }


def _values(vm: VM, group: Group) -> Mapping[str, Node]:
    tags = sorted(vm.tags.items())  # sorted, as in Azure's responses
    return {
        "azEnvironment": "AzurePublicCloud",
        "evictionPolicy": _eviction_policy(vm, group),
        "location": vm.location or "",
        "name": vm.name,
        "osType": vm.os.azure_name,
        "platformFaultDomain": _domain(vm.fault_domain, group),
        "platformUpdateDomain": _domain(vm.update_domain, group),
        "priority": "Spot" if vm.spot else "",
        "provider": "Microsoft.Compute",
        "resourceGroupName": vm.resource_group or "",
        "storageProfile": {"osDisk": {"osType": vm.os.azure_name}},
        "subscriptionId": vm.subscription or "",
        "tags": ";".join(f"{name}:{value}" for name, value in tags),
        "tagsList": [{"name": name, "value": value} for name, value in tags],
        "vmId": vm.vm_id or "",
        "vmSize": vm.size or "",
        "zone": vm.zone or "",
        **_membership(vm, group),
    }


def _eviction_policy(vm: VM, group: Group) -> str:
    policy = eviction_policy_of(vm, group)
    return "" if policy is None else policy.azure_name


def _domain(domain: int | None, group: Group) -> str:
    if domain is None:  # Azure returns 0 for a VM that is not in a set
        return "0" if group.kind is GroupKind.STANDALONE else ""
    return str(domain)


def _membership(vm: VM, group: Group) -> Mapping[str, Node]:
    """Return the values that depend on the kind of `group`."""
    if group.kind is GroupKind.SCALE_SET:
        uniform = _UNIFORM.fullmatch(vm.name)
        return (
            _uniform(vm, group, *uniform.groups()) if uniform else _flexible(vm, group)
        )
    # A role instance is not a virtual machine in a resource group.
    is_role = group.kind is GroupKind.CLOUD_SERVICE
    own = "" if is_role else _resource_id(vm, f"virtualMachines/{vm.name}")
    return {"osProfile": {"computerName": vm.name}, "resourceId": own}


def _uniform(vm: VM, group: Group, scale_set: str, number: str) -> Mapping[str, Node]:
    own = f"virtualMachineScaleSets/{scale_set}/virtualMachines/{number}"
    return {
        "osProfile": {"computerName": scale_set + base_36(int(number)).upper()},
        "placementGroupId": group.name,  # a uniform set is one placement group
        "resourceId": _resource_id(vm, own),
        "vmScaleSetName": scale_set,
    }


def _flexible(vm: VM, group: Group) -> Mapping[str, Node]:
    named = _FLEXIBLE.fullmatch(vm.name)
    scale_set = named[1] if named else group.name
    set_id = _resource_id(vm, f"virtualMachineScaleSets/{scale_set}")
    return {
        "osProfile": {"computerName": vm.name},
        "placementGroupId": group.name,
        "resourceId": _resource_id(vm, f"virtualMachines/{vm.name}"),
        "virtualMachineScaleSet": {"id": set_id},
        "vmScaleSetName": scale_set,
    }


def _resource_id(vm: VM, path: str) -> str:
    if vm.subscription is None or vm.resource_group is None:
        return ""
    return (
        f"/subscriptions/{vm.subscription}/resourceGroups/{vm.resource_group}"
        f"/providers/Microsoft.Compute/{path}"
    )


def _interfaces(vm: VM) -> Iterator[Node]:
    """Yield a single interface with all addresses; the fleet has no interface data."""
    if not vm.addresses:
        return
    ipv4: list[Node] = [_address_node(ip) for ip in vm.addresses if ":" not in ip]
    ipv6: list[Node] = [_address_node(ip) for ip in vm.addresses if ":" in ip]
    subnet: list[Node] = [{"address": "", "prefix": ""}] if ipv4 else []
    yield {
        "ipv4": {"ipAddress": ipv4, "subnet": subnet},
        "ipv6": {"ipAddress": ipv6},
        "macAddress": "",
    }


def _address_node(address: str) -> Node:
    return {"privateIpAddress": address, "publicIpAddress": ""}
