"""Error messages for failed connections."""

import socket

from forewarn.errors import Lost, Misunderstood, Unreachable


def trouble(error: OSError, endpoint: str, seconds: float) -> Unreachable:
    """Return an error that explains what is wrong with a connection and what to do."""
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(
            f"nothing answers at {endpoint}; is that the address of a metadata"
            " service, and does it run? ($FOREWARN_ENDPOINT)"
        )
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"{endpoint} did not answer within {seconds:g} s; it may be busy, or not"
            " be a metadata service"
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(f"no machine of the name in {endpoint} is known: {error}")
    if isinstance(error, ConnectionError):
        return Lost(f"the connection to {endpoint} broke before it had answered")
    return Unreachable(f"{endpoint} cannot be reached: {error.strerror or error}")


def no_connection(endpoint: str, seconds: float) -> Unreachable:
    """Return the error for a connection attempt that timed out."""
    return Unreachable(
        f"no connection to {endpoint} within {seconds:g} s; is this a VM that it"
        " serves, and does a route lead there?"
    )


def named(error: Lost | Misunderstood, endpoint: str) -> Lost | Misunderstood:
    """Return `error` with the endpoint that sent the broken response."""
    if isinstance(error, Lost):
        return Lost(f"{endpoint} was lost: {error}")
    return Misunderstood(f"{endpoint} is no metadata service: {error}")
