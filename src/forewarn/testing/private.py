"""In-process service of a rehearsal, with memory store and manual clock."""

from collections.abc import Mapping

from forewarn.compose import System
from forewarn.config import Sources, load
from forewarn.core.fleet import Fleet
from forewarn.errors import InvalidInput
from forewarn.settings import SETTINGS

#: Settings that a rehearsal sets itself or has an argument for.
_OWN = frozenset({"clock", "default_vm", "fleet", "metadata", "seed"})


def private_system(
    fleet: Fleet,
    vm: str,
    token: str,
    seed: int | None,
    metadata: str,
    settings: Mapping[str, object],
) -> System:
    """Return a service for `fleet`; requests that name no VM count as from `vm`."""
    flags = {
        "metadata": [metadata],
        "control": "127.0.0.1:0",
        "store": "memory",
        "clock": "manual",
        "default_vm": vm,
        "open": True,
        "seed": seed,
        **_checked(settings),
    }
    config = load(Sources(flags=flags))
    return System(config, token, is_guest=True, fleet=fleet)


def _checked(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Reject settings that do not exist or would have no effect."""
    if not isinstance(settings, Mapping):
        raise InvalidInput("settings is a table: {'requests_per_second': 1.0}")
    names = {setting.name for setting in SETTINGS}
    for name in settings:
        if name not in names:
            raise InvalidInput(f"settings: there is no setting {name!r}")
        if name in _OWN:
            raise InvalidInput(f"settings: {name} is not to be set in a rehearsal")
    return settings
