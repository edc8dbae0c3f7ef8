"""Error hierarchy: every error that forewarn raises intentionally.

    ForewarnError
    ├── InvalidInput        the request is invalid; change it
    │   ├── TooSoon         less notice than the minimum; carries the earliest time
    │   └── Malformed       bytes on the wire that violate the protocol
    ├── NotFound            no such VM, group, host, maintenance or event
    │   └── UnknownEvent    never an event of the VM that approves it
    ├── Forbidden           not allowed with this token
    ├── Repeated            the request was handled before; carries that response
    ├── Undone              a dry run has been undone
    ├── Conflict            valid, but not in the current state
    │   ├── TooLate         the maintenance is past the phase where this is possible
    │   ├── TooMany         a VM or group has reached its limit of operations
    │   └── InUse           a live event depends on what the request would change
    ├── Throttled           a token has reached a limit; retry later
    ├── Unavailable         the store cannot be written to at the moment; retry
    │   ├── Crowded         too many writers; the store itself works
    │   ├── NotApplied      the connection was lost before the commit; nothing was done
    │   └── StoreDamaged    the store has lost data; retrying does not help
    ├── Undelivered         a notification was not accepted; it is sent again
    ├── CannotStart         the service or the agent cannot start as configured
    │   └── FaultyFile      all problems of a file, one per line
    └── (raised by clients and commands)
        ├── WrongUsage      the command line is invalid
        ├── Declined        the user did not confirm the command
        ├── Incomplete      a command was not carried out for every name
        ├── TimedOut        what a command waited for has not happened in time
        ├── Refused         the service returned an error response
        ├── Unreachable     there was no response
        │   └── Lost        the connection was lost; the request may have had an effect
        ├── Misunderstood   the response is not what this version expects
        └── ClientClosed    the client was closed by its owner

Every message is a sentence for the person who caused the error.
"""

from datetime import datetime
from functools import partial


class ForewarnError(Exception):
    """The base class of all errors that forewarn raises intentionally."""


class InvalidInput(ForewarnError):
    """The request is invalid."""


class TooSoon(InvalidInput):
    """The requested notice is shorter than the minimum."""

    def __init__(self, message: str, earliest: datetime) -> None:
        """Create the error with the `earliest` time that would have been accepted."""
        super().__init__(message)
        self.earliest = earliest


class Malformed(InvalidInput):
    """The bytes on the wire violate the protocol."""


class NotFound(ForewarnError):
    """The named object does not exist."""


class UnknownEvent(NotFound):
    """The approving VM never had an event with this ID."""


class Forbidden(ForewarnError):
    """The request is not allowed with this token."""


class Repeated(ForewarnError):
    """A request with this idempotency key was handled before."""

    def __init__(self, answer: str) -> None:
        """Create the error with the first response."""
        super().__init__("this request has already been handled")
        self.answer = answer


class Undone(ForewarnError):
    """A dry run has been undone."""


class Conflict(ForewarnError):
    """The request is valid but not possible in the current state."""


class TooLate(Conflict):
    """The maintenance is past the phase in which this was possible."""


class TooMany(Conflict):
    """A VM or group has reached its limit of operations."""

    def __init__(self, message: str, *, per: str) -> None:
        """Create the error; `per` names what has the limit, "vm" or "group"."""
        super().__init__(message)
        self.per = per


class InUse(Conflict):
    """A live event depends on something that the request would change."""


class Throttled(ForewarnError):
    """A token has reached its limit of waiting commands or idempotency keys."""

    def __init__(self, message: str, *, retry_after: int = 1) -> None:
        """Create the error with `retry_after`, the seconds until a retry."""
        super().__init__(message)
        self.retry_after = retry_after


class Unavailable(ForewarnError):
    """The store cannot be written to at the moment."""


class Crowded(Unavailable):
    """There are too many writers; the store itself is working."""


class NotApplied(Unavailable):
    """The connection to the store was lost before the commit."""


class StoreDamaged(Unavailable):
    """The store has lost data and must be restored from a backup."""


class Undelivered(ForewarnError):
    """The receiver did not accept a notification."""


class CannotStart(ForewarnError):
    """The service or the agent cannot start as configured."""


class FaultyFile(CannotStart):
    """A file has problems; the message has one line for each."""


class WrongUsage(ForewarnError):
    """The command line is invalid."""


class Declined(ForewarnError):
    """The user did not confirm the command."""


class Incomplete(ForewarnError):
    """A command was not carried out for every name."""


class TimedOut(ForewarnError):
    """What a command waited for has not happened in time."""


class Refused(ForewarnError):
    """The service returned an error response."""

    def __init__(
        self, message: str, status: int, *, retry_after: float | None = None
    ) -> None:
        """Create the error with the HTTP `status` and the seconds until a retry."""
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after  # None if the response had no Retry-After

    def __reduce__(self) -> tuple[object, ...]:
        """Keep all attributes when the error is copied or pickled."""
        return partial(type(self), retry_after=self.retry_after), (
            str(self),
            self.status,
        )


class Unreachable(ForewarnError):
    """There was no response."""


class Lost(Unreachable):
    """The connection was lost; the request may or may not have been carried out."""


class Misunderstood(ForewarnError):
    """The response is not what this version of forewarn expects."""


class ClientClosed(ForewarnError):
    """The client was closed by its owner."""
