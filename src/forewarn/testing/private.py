"""A service in this process, in memory, whose clock is moved by hand."""

from collections.abc import Mapping

from forewarn.compose import System
from forewarn.config import Sources, load
from forewarn.core.fleet import Fleet
from forewarn.errors import InvalidInput
from forewarn.settings import SETTINGS

#: Settings that a rehearsal has its own word for, or its own mind about.
_OWN = frozenset({"clock", "default_vm", "fleet", "metadata", "seed"})


def private_system(
    fleet: Fleet,
    vm: str,
    token: str,
    seed: int | None,
    metadata: str,
    settings: Mapping[str, object],
) -> System:
    """Make one that serves `fleet`; whoever asks without a name is `vm`."""
    given = {
        "metadata": [metadata],
        "control": "127.0.0.1:0",
        "store": "memory",
        "clock": "manual",
        "default_vm": vm,
        "open": True,
        "seed": seed,
        **_checked(settings),
    }
    config = load(Sources(flags=given))
    return System(config, token, is_guest=True, fleet=fleet)


def _checked(settings: Mapping[str, object]) -> Mapping[str, object]:
    """Refuse settings that there are not, or that would be without effect."""
    if not isinstance(settings, Mapping):
        raise InvalidInput("settings is a table: {'requests_per_second': 1.0}")
    known = {each.name for each in SETTINGS}
    for name in settings:
        if name not in known:
            raise InvalidInput(f"settings: there is no setting {name!r}")
        if name in _OWN:
            raise InvalidInput(f"settings: {name} is not to be set in a rehearsal")
    return settings
