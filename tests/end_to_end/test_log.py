"""The service's log: one line for each step of a maintenance operation."""

import fcntl
import json
import os
import signal
import subprocess
from pathlib import Path

import pytest
from tests.end_to_end.program import (
    DEMO,
    FOREWARN,
    PORTS,
    environment_of,
    serving,
    until,
)
from tests.patience import PATIENCE
from tests.server.support.service import RunningService

STUCK = "stuck: the driver failed on lone (exit code 3: no route to host-a)"
#: The documented fields of the line that is logged after the start.
START_FIELDS = ["version", "fleet", "store", "clock", "driver", "metadata", "control"]

FLEET = '[[vms]]\nname = "lone"\n'


def test_the_log_shows_a_failure_from_start_to_end(tmp_path: Path) -> None:
    script = tmp_path / "driver"
    script.write_text("#!/bin/sh\necho no route to host-a; exit 3\n")
    script.chmod(0o755)
    options = ("--driver", "script", "--driver-command", str(script))
    with serving(
        tmp_path,
        *options,
        *("--store", "memory", "--clock", "manual", "--log-format", "json"),
        fleet=FLEET,
        FOREWARN_LOG_LEVEL="info",
    ) as program:
        maintenance = program.service.announce(vms=["lone"], reason="firmware")
        program.service.advance(1200)
        until(lambda: STUCK in program.log)
        path = f"/v1/maintenances/{maintenance['id']}/close"
        closed = program.service.request("POST", path, {"reason": "replaced"})
        assert closed.status == 200
        program.stop()
    lines = [json.loads(line) for line in program.log.splitlines()]
    messages = [line["message"] for line in lines]
    assert messages[0] == (
        "fleet changed by serve --fleet: added or changed group lone, VM lone"
    )
    assert messages[1] == "forewarn 0.1.0 serves 0 hosts, 1 group, 1 VM"
    assert {*START_FIELDS} <= lines[1].keys()
    assert messages[2].startswith("store: memory; clock: manual, paused at ")
    assert messages[3] == (
        f"portal: {program.service.control}/; to sign in, run `forewarn portal`"
    )
    assert [line["level"] for line in lines[4:]] == [
        *("info", "info", "error", "warning", "info")
    ]
    assert [line.get("fact") for line in lines[4:]] == [
        *("Announced", "Started", "WorkFailed", "Closed", None)
    ]
    assert messages[-1] == "forewarn stopped"


@pytest.mark.slow
def test_a_log_that_nobody_reads_delays_nothing(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    fcntl.fcntl(write_end, fcntl.F_SETPIPE_SZ, 4096)  # bytes; filled by 20 lines
    command = [*FOREWARN, "serve", *PORTS, "--store", "memory", "--fleet", str(DEMO)]
    with subprocess.Popen(
        [*command, "--json"],
        env=environment_of(tmp_path, FOREWARN_LOG_LEVEL="info"),
        stdout=subprocess.PIPE,
        stderr=write_end,
    ) as process:
        os.close(write_end)
        try:
            assert process.stdout is not None
            places = json.loads(process.stdout.readline())
            service = RunningService(
                metadata=places["metadata"][0], control=places["control"]
            )
            for _ in range(40):
                maintenance = service.announce(vms=["web-0"])
                path = f"/v1/maintenances/{maintenance['id']}/cancel"
                assert service.request("POST", path).status == 200
            assert service.document("web-0")["Events"] == []
            assert service.request("GET", "/readyz").status == 200
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE) == 0
            assert b"m-40 " not in os.read(read_end, 8192)  # it was full
        finally:
            process.kill()
            os.close(read_end)
