"""forewarn gives every machine in a fleet fair warning before it is touched."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.client import Client

__all__ = ["Client", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import the client when it is asked for; the service has no need of it."""
    if name == "Client":
        from forewarn.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
