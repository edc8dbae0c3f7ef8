"""Scenario files for tests: valid ones and malformed ones."""

from pathlib import Path

from forewarn.errors import FaultyFile
from forewarn.testing.scenario.model import Scenario, Step
from forewarn.testing.scenario.parser import parse_scenario

FILE = Path("reboot.toml")

#: Has every top-level key, every verb and every key of each.
EVERYTHING = """\
title = "All of it"
description = "It never happens"
vm = "web-0"
patience = "3s"

[fleet]
hosts = [{ name = "host-a" }]

[[fleet.groups]]
name = "web"
kind = "scale-set"
enabled = "always"
terminate_notice_seconds = 300
auto_approve = ["user-reboot"]
isolated = false

[[fleet.vms]]
name = "web-0"
group = "web"
host = "host-a"
update_domain = 0
fault_domain = 1
zone = "1"
addresses = ["10.0.0.1"]
spot = true
paas = false
os = "windows"
tags = { role = "web" }
size = "small"
location = "here"
resource_group = "demo"
subscription = "none"
vm_id = "7"

[[fleet.vms]]
name = "web-1"
group = "web"

[throughout]
keeps_running = false
polls_at_least_every = 15
never_approves = ["a"]
approves_nothing = false
approves_only_its_own = true

[[steps]]
announce = "Freeze"
vms = ["web-0", "web-1"]
notice = "20m"
duration = 5
description = "Soon"
source = "Platform"
as = "a"

[[steps]]
announce = "Reboot"
host = "host-a"
emergency = true
ignore_blockers = true
reason = "smoke"
as = "b"

[[steps]]
announce = "Redeploy"
group = "web"

[[steps]]
restart = "web-0"
as = "c"

[[steps]]
redeploy = "web-0"

[[steps]]
reimage = "web-0"

[[steps]]
evict = "web-0"

[[steps]]
delete = "web-0"

[[steps]]
maintain = "host-a"
type = "Redeploy"
as = "d"

[[steps]]
degraded = "host-a"
fails_by = "2h"
as = "e"

[[steps]]
failed = "host-a"
as = "f"

[[steps]]
recovered = "host-a"

[[steps]]
cancel = "a"

[[steps]]
complete = "b"

[[steps]]
approve = "c"
by = "web-1"

[[steps]]
advance = "1h30m"

[[steps]]
advance_to = "start"
of = "d"

[[steps]]
outage = "20m"
real = "250ms"

[[steps]]
fault = "slow"
delay = "2s"
count = 3
probability = 0.5
duration = "2s"
vms = ["web-0"]
on = "read"

[[steps]]
fault = "503"
retry_after = 4

[[steps]]
fault = "reset"

[[steps]]
clear = "faults"

[[steps]]
wait = 0.5

[[steps]]
expect = "seen"
event = "a"
within = "5s"

[[steps]]
expect = "approved"
event = "a"
by = "web-0"
after_mark = "drained"
within = "5s"

[[steps]]
expect = "not-approved"
event = "a"
for = "1s"

[[steps]]
expect = "polled"
times = 2
within = "5s"

[[steps]]
expect = "marked"
mark = "drained"
within = "5s"

[[steps]]
expect = "running"

[[steps]]
expect = "ended"
code = 3
within = "5s"
"""


def a_scenario(
    *steps: str, top: str = "", throughout: str = "", fleet: str = ""
) -> str:
    """Write a file with `steps`, each an inline table in braces."""
    always = f"[throughout]\n{throughout}\n" if throughout else ""
    inner = f"[fleet]\n{fleet}\n" if fleet else ""
    listed = ",\n".join(steps)
    return f'title = "t"\n{top}\nsteps = [\n{listed}\n]\n{always}{inner}'


def read(text: str) -> Scenario:
    """Parse `text` as a file named reboot.toml."""
    return parse_scenario(text, FILE)


def step_of(written: str, *before: str) -> Step:
    """Parse one step that follows others."""
    return read(a_scenario(*before, written)).steps[-1]


def errors_in(text: str) -> list[str]:
    """Return all errors in `text`; empty if it is valid."""
    try:
        read(text)
    except FaultyFile as error:
        return str(error).splitlines()
    return []


_BAD_STEPS = (
    "7",
    "{}",
    '{as = "a"}',
    '{anounce = "Reboot", vms = ["web-0"]}',
    '{advance = "1m", wait = "1s"}',
    '{announce = "reboot", vms = ["web-0"]}',
    '{announce = "Reboot"}',
    '{announce = "Reboot", vms = []}',
    '{announce = "Reboot", vms = "web-0"}',
    '{announce = "Reboot", vms = ["web-0", "web-0"]}',
    '{announce = "Reboot", vms = ["web 0"]}',
    '{announce = "Reboot", vms = ["web-0"], host = "host-a"}',
    '{announce = "Reboot", vms = ["web-0"], notice = "soon"}',
    '{announce = "Reboot", vms = ["web-0"], notice = ""}',
    '{announce = "Reboot", vms = ["web-0"], notice = true}',
    '{announce = "Reboot", vms = ["web-0"], notice = -900}',
    '{announce = "Reboot", vms = ["web-0"], notice = " 20m"}',
    '{announce = "Reboot", vms = ["web-0"], source = "user"}',
    '{announce = "Reboot", vms = ["web-0"], reason = " "}',
    '{announce = "Reboot", vms = ["web-0"], emergency = 1}',
    '{announce = "Reboot", vms = ["web-0"], as = ""}',
    '{announce = "Reboot", vms = ["web-0"], as = "two words"}',
    '{announce = "Reboot", vms = ["web-0"], is = "a"}',
    "{restart = 0}",
    '{restart = ["web-0"]}',
    '{restart = "web-0", notice = "15m"}',
    '{maintain = "host-a", type = "Preempt"}',
    '{degraded = "host-a", fails_by = {}}',
    '{recovered = "host-a", as = "a"}',
    '{approve = "a"}',
    '{advance_to = "start"}',
    '{advance_to = "middle", of = "a"}',
    '{advance = "1w"}',
    "{advance = 1e12}",
    '{outage = "20m", for = "1s"}',
    '{fault = "502"}',
    "{fault = 503}",
    '{fault = "500", retry_after = 1}',
    '{fault = "503", delay = "1s"}',
    '{fault = "slow", count = 0}',
    '{fault = "slow", count = 1.5}',
    '{fault = "slow", probability = 0}',
    '{fault = "slow", probability = 1.1}',
    '{fault = "slow", on = "write"}',
    '{fault = "refused", count = 1}',
    '{fault = "refused", vms = ["web-0"]}',
    '{clear = "fault"}',
    "{wait = []}",
    '{expect = "happy"}',
    "{expect = 1}",
    '{expect = "seen"}',
    '{expect = "seen", event = "a", by = "web-0"}',
    '{expect = "not-approved", event = "a", within = "1s"}',
    '{expect = "polled", times = 0}',
    '{expect = "marked"}',
    '{expect = "running", within = "1s"}',
    '{expect = "ended", code = 256}',
    '{expect = "ended", code = "0"}',
)

_A_STEP = '{wait = "1s"}'

#: Malformed whatever the names in it refer to.
MISSHAPEN = {
    **{written: a_scenario(written) for written in _BAD_STEPS},
    "no title": f"steps = [{_A_STEP}]",
    "an empty title": f'title = ""\nsteps = [{_A_STEP}]',
    "no steps": 'title = "t"',
    "an empty list of steps": 'title = "t"\nsteps = []',
    "steps that are a table": 'title = "t"\n[steps]\nwait = "1s"',
    "an unknown key": a_scenario(_A_STEP, top='name = "x"'),
    "a vm that is a number": a_scenario(_A_STEP, top="vm = 1"),
    "a description that is a number": a_scenario(_A_STEP, top="description = 1"),
    "a patience that is a word": a_scenario(_A_STEP, top='patience = "long"'),
    "a fleet that is a list": a_scenario(_A_STEP, top="fleet = []"),
    "a fleet that is no name of a file": a_scenario(_A_STEP, top='fleet = " "'),
    "an empty fleet": a_scenario(_A_STEP, top="fleet = {}"),
    "throughout that is a list": a_scenario(_A_STEP, top="throughout = []"),
    "throughout with an unknown key": a_scenario(_A_STEP, throughout="runs = true"),
    "throughout with a wrong flag": a_scenario(
        _A_STEP, throughout='approves_nothing = "no"'
    ),
    "throughout with a wrong list": a_scenario(
        _A_STEP, throughout="never_approves = 1"
    ),
    "a VM of the fleet without a name": a_scenario(_A_STEP, fleet="vms = [{}]"),
    "a VM of the fleet with an unknown key": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a", cpu = 1 }]'
    ),
    "a VM of the fleet with a wrong flag": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a", spot = 1 }]'
    ),
    "a VM of the fleet with a wrong tag": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a", tags = { b = 1 } }]'
    ),
    "a VM of the fleet with a domain below 0": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a", update_domain = -1 }]'
    ),
    "a group of the fleet without a kind": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a" }]\ngroups = [{ name = "b" }]'
    ),
    "a group of the fleet of an unknown kind": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a" }]\ngroups = [{ name = "b", kind = "c" }]'
    ),
    "a group of the fleet with too short a notice": a_scenario(
        _A_STEP,
        fleet='vms = [{ name = "a" }]\ngroups = [{ name = "b", kind = "scale-set",'
        " terminate_notice_seconds = 60 }]",
    ),
    "a host of the fleet with an unknown key": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a" }]\nhosts = [{ name = "h", rack = 1 }]'
    ),
    "a list of the fleet that is none": a_scenario(_A_STEP, fleet='vms = "a"'),
    "an unknown list of the fleet": a_scenario(
        _A_STEP, fleet='vms = [{ name = "a" }]\nracks = []'
    ),
}
