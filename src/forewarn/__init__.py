"""forewarn, an implementation of Azure Scheduled Events for any fleet of machines."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forewarn.client import Client

__all__ = ["Client", "__version__"]

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import `Client` on first use, because the service does not need it."""
    if name == "Client":
        from forewarn.client import Client

        return Client
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
