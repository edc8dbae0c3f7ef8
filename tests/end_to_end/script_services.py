"""Services with the script driver."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.drivers.scripts import write_script
from tests.end_to_end.program import Program, until
from tests.patience import PATIENCE
from tests.server.support.service import RunningService

LONG = PATIENCE


def a_fleet(folder: Path) -> Path:
    """Write a fleet file: three hosts with five VMs each, and 20 standalone VMs."""
    lines = [f'[[hosts]]\nname = "{host}"\n' for host in "abc"]
    lines += [
        f'[[vms]]\nname = "{host}{number}"\nhost = "{host}"\n'
        for host in "abc"
        for number in range(1, 6)
    ]
    lines += [f'[[vms]]\nname = "lone-{number}"\n' for number in range(20)]
    (folder / "fleet.toml").write_text("".join(lines))
    return folder / "fleet.toml"


def settings(folder: Path, script: Path, **driver: float) -> tuple[str, str]:
    """Return options that run `script` without a lead, and end reboots immediately."""
    lines = ["[shown]", "reboot = 0", "[driver]", "lead = 0", 'name = "script"']
    lines += [f'command = ["{script}"]']
    lines += [f"{name} = {value}" for name, value in driver.items()]
    (folder / "forewarn.toml").write_text("\n".join(lines))
    return "--config", str(folder / "forewarn.toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptService:
    """A service that chooses its script by the reason of the maintenance."""

    program: Program
    folder: Path
    lone: Iterator[str]

    @property
    def service(self) -> RunningService:
        return self.program.service

    def begin(self, script: str, text: str, **target: object) -> Any:
        """Start a maintenance that runs a script named `script` with this `text`."""
        write_script(self.folder / script, text)
        scope = target or {"vms": [next(self.lone)]}
        return self.service.announce(emergency=True, reason=script, **scope)

    def now(self, made: Any) -> Any:
        return self.service.get(f"/v1/maintenances/{made['id']}")

    def facts(self, made: Any, *kinds: str) -> list[Any]:
        facts = self.service.facts(*kinds)
        return [fact for fact in facts if fact.get("maintenance") == made["id"]]

    def until_over(self, made: Any) -> None:
        until(lambda: self.now(made)["phase"] == "COMPLETED", LONG)

    def until_stuck(self, made: Any) -> str:
        """Wait until it is stuck and its call has ended; return the reason."""
        until(lambda: self.now(made)["stuck_since"] is not None, LONG)
        return str(self.facts(made, "WorkFailed")[-1]["detail"])

    def act(self, made: Any, what: str) -> None:
        path = f"/v1/maintenances/{made['id']}/{what}"
        answer = self.service.request("POST", path)
        assert answer.status == 200, answer.body
