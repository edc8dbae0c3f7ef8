"""What goes wrong on the way to a service, as sentences."""

import socket

from forewarn.errors import Lost, Unreachable


def trouble(error: OSError, endpoint: str, seconds: float) -> Unreachable:
    """Say what is wrong with a connection, and what to do about it."""
    if isinstance(error, ConnectionRefusedError):
        return Unreachable(
            f"nothing answers at {endpoint}; is that the address of a metadata"
            " service, and does it run? ($FOREWARN_ENDPOINT)"
        )
    if isinstance(error, TimeoutError):
        return Unreachable(
            f"{endpoint} did not answer within {seconds:g} s; is this a VM that it"
            " serves, and does a route lead there?"
        )
    if isinstance(error, socket.gaierror):
        return Unreachable(f"no machine of the name in {endpoint} is known: {error}")
    if isinstance(error, ConnectionError):
        return Lost(f"the connection to {endpoint} broke before it had answered")
    return Unreachable(f"{endpoint} cannot be reached: {error.strerror or error}")
