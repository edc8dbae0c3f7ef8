"""/metadata/instance and /metadata/versions: what a VM may ask about itself."""

import json
from collections.abc import Sequence
from typing import Protocol, TypeAlias

from forewarn.core.fleet import VM, Group, GroupKind
from forewarn.protocol.versions import INSTANCE_VERSIONS
from forewarn.server.responses import JSON, TEXT, Response, error

Node: TypeAlias = "str | dict[str, Node] | list[Node]"

_TAGS_LIST_SINCE = "2019-06-04"


class Question(Protocol):
    """What is asked about the instance."""

    @property
    def path(self) -> Sequence[str]:
        """The way down the tree."""

    @property
    def version(self) -> str:
        """The api-version."""

    @property
    def form(self) -> str:
        """`json` or `text`."""


def versions() -> Response:
    """List the api-versions of /metadata/instance."""
    return _json({"apiVersions": [*INSTANCE_VERSIONS]})


def read(vm: VM, group: Group, asked: Question) -> Response:
    """Read the tree, or what lies at a path of it."""
    if asked.form not in ("json", "text"):
        return error(400, "Bad request. format must be json or text")
    node = _walk(_tree(vm, group, asked.version), asked.path)
    if node is None:
        return error(404, "Not found")
    if asked.form == "text":
        return Response(200, _text(node).encode(), TEXT)
    if isinstance(node, str):
        return error(400, "Bad request. A single value is given with format=text only")
    return _json(node)


def _json(node: Node) -> Response:
    body = json.dumps(node, ensure_ascii=False, separators=(",", ":"))
    return Response(200, body.encode(), JSON)


def _walk(node: Node, path: Sequence[str]) -> "Node | None":
    for part in path:
        if isinstance(node, dict):
            wanted = part.lower()
            found = next((name for name in node if name.lower() == wanted), None)
            if found is None:
                return None
            node = node[found]
        elif isinstance(node, list) and part in map(str, range(len(node))):
            node = node[int(part)]
        else:
            return None
    return node


def _text(node: Node) -> str:
    """Write a value as it is, or list the children; containers end with a slash."""
    if isinstance(node, str):
        return node
    if isinstance(node, list):
        return "\n".join(f"{i}/" for i in range(len(node)))
    return "\n".join(n if isinstance(node[n], str) else f"{n}/" for n in sorted(node))


def _tree(vm: VM, group: Group, version: str) -> Node:
    compute: dict[str, Node] = {
        "azEnvironment": "AzurePublicCloud",
        "evictionPolicy": "Delete" if vm.spot else "",
        "location": vm.location or "",
        "name": vm.name,
        "osProfile": {"computerName": vm.name},
        "osType": "Linux",
        "placementGroupId": "",
        "platformFaultDomain": _number(vm.fault_domain),
        "platformUpdateDomain": _number(vm.update_domain),
        "priority": "Spot" if vm.spot else "",
        "provider": "Microsoft.Compute",
        "resourceGroupName": vm.resource_group or "",
        "resourceId": _resource_id(vm),
        "subscriptionId": vm.subscription or "",
        "tags": ";".join(f"{name}:{value}" for name, value in vm.tags.items()),
        "tagsList": [{"name": name, "value": vm.tags[name]} for name in vm.tags],
        "vmId": vm.vm_id or "",
        "vmScaleSetName": group.name if group.kind is GroupKind.SCALE_SET else "",
        "vmSize": vm.size or "",
        "zone": vm.zone or "",
    }
    if version < _TAGS_LIST_SINCE:
        del compute["tagsList"]
    return {"compute": compute, "network": {"interface": _interfaces(vm)}}


def _number(domain: int | None) -> str:
    return "" if domain is None else str(domain)


def _resource_id(vm: VM) -> str:
    if vm.subscription is None or vm.resource_group is None:
        return ""
    return (
        f"/subscriptions/{vm.subscription}/resourceGroups/{vm.resource_group}"
        f"/providers/Microsoft.Compute/virtualMachines/{vm.name}"
    )


def _interfaces(vm: VM) -> Node:
    if not vm.addresses:
        return []
    four: list[Node] = [
        {"privateIpAddress": address, "publicIpAddress": ""}
        for address in vm.addresses
        if ":" not in address
    ]
    six: list[Node] = [{"privateIpAddress": a} for a in vm.addresses if ":" in a]
    return [
        {
            "ipv4": {"ipAddress": four, "subnet": []},
            "ipv6": {"ipAddress": six},
            "macAddress": "",
        }
    ]
