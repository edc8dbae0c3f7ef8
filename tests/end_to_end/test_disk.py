"""Full disk: writes are refused with 503 for a while, reads continue."""

import json
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.end_to_end.program import Program, serving

#: The group lone is disabled until its first poll.
FLEET = """\
[[groups]]
name = "web"
kind = "availability-set"
enabled = "always"
[[vms]]
name = "web-0"
group = "web"
[[vms]]
name = "lone"
"""


@contextmanager
def a_full_disk(program: Program) -> Iterator[None]:
    """Keep the program's files from growing until the block ends."""
    pid = program.process.pid
    soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


def test_the_service_survives_a_full_disk(tmp_path: Path) -> None:
    options = ("--clock", "manual", "--log-format", "json")
    with serving(tmp_path, *options, fleet=FLEET) as program:
        service = program.service
        maintenance = service.announce(vms=["web-0"])
        event = maintenance["events"][0]["id"]
        before = service.as_vm("web-0")

        with a_full_disk(program):
            approval = service.approve_as("web-0", event)
            assert approval.status == 503
            assert int(approval.headers["Retry-After"]) > 0
            assert "error" in approval.json
            first = service.as_vm("lone")
            assert first.status == 503
            assert int(first.headers["Retry-After"]) > 0
            assert service.as_vm("web-0").body == before.body
            tag = before.headers["ETag"]
            assert service.as_vm("web-0", If_None_Match=tag).status == 304
            for path in (f"maintenances/{maintenance['id']}", "vms", "journal"):
                assert service.request("GET", f"/v1/{path}").status == 200
            announcement = {"type": "Reboot", "vms": ["web-0"]}
            refused = service.request("POST", "/v1/maintenances", announcement)
            assert refused.status == 503
            assert int(refused.headers["Retry-After"]) > 0
            assert refused.detail

        assert service.approve_as("web-0", event).status == 200
        assert service.as_vm("lone").status == 200
        assert len(service.facts("Approved")) == 1
        assert len(service.facts("Announced")) == 1
        positions = [fact["position"] for fact in service.facts()]
        assert positions == [*range(1, len(positions) + 1)]
        service.advance(5)
        assert service.document("web-0")["Events"] == []
        assert all("message" in json.loads(line) for line in program.log.splitlines())
