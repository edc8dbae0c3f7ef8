"""Every error that forewarn raises on purpose.

    ForewarnError
    ├── InvalidInput        what was asked makes no sense; ask differently
    │   ├── TooSoon         less notice than the minimum; says the earliest time
    │   └── Malformed       bytes on the wire that are not what the protocol says
    ├── NotFound            no such VM, group, host, maintenance or event
    │   └── UnknownEvent    never an event of the VM that approves it
    ├── Forbidden           not with this token
    ├── Repeated            was answered before; carries that answer
    ├── Conflict            makes sense, but not now
    │   ├── TooLate         the maintenance has passed that point of its life
    │   └── InUse           a live event depends on what was to be changed
    ├── Unavailable         the store cannot be written at the moment; try again
    ├── Undelivered         a notice was not taken; it is offered again
    ├── CannotStart         the service, or the agent, cannot start as configured
    │   └── FaultyFile      all that is wrong with a file, a line for each
    └── (of those who ask)
        ├── WrongUsage      the command was not called as it can be called
        ├── Refused         the service answered, and said no
        ├── Unreachable     there was no answer
        │   └── Lost        the connection broke; what was done is unknown
        ├── Misunderstood   the answer is not what this version expects
        └── Closed          the client was closed by its owner

Every message is a sentence that can be shown to the person who caused it.
"""

from datetime import datetime
from functools import partial


class ForewarnError(Exception):
    """The root of all errors raised on purpose."""


class InvalidInput(ForewarnError):
    """What was asked makes no sense as it stands."""


class TooSoon(InvalidInput):
    """Less notice than the minimum was asked for."""

    def __init__(self, message: str, earliest: datetime) -> None:
        """Carry the `earliest` time that would have been accepted."""
        super().__init__(message)
        self.earliest = earliest


class Malformed(InvalidInput):
    """Bytes on the wire that are not what the protocol says."""


class NotFound(ForewarnError):
    """Nothing of that name is known."""


class UnknownEvent(NotFound):
    """The id was never an event of the VM that approves it."""


class Forbidden(ForewarnError):
    """What was asked is not for the holder of this token."""


class Repeated(ForewarnError):
    """The same request was answered before."""

    def __init__(self, answer: str) -> None:
        """Carry the `answer` that was given."""
        super().__init__("this request was answered before")
        self.answer = answer


class Conflict(ForewarnError):
    """The request makes sense, but not in the present situation."""


class TooLate(Conflict):
    """The maintenance has passed the point of its life where this was possible."""


class InUse(Conflict):
    """A live event depends on what was to be changed."""


class Unavailable(ForewarnError):
    """The store cannot be written at the moment."""


class Undelivered(ForewarnError):
    """The other side did not take a notice."""


class CannotStart(ForewarnError):
    """The service, or the agent, cannot start as configured."""


class FaultyFile(CannotStart):
    """A file has faults; each is a line of the message."""


class WrongUsage(ForewarnError):
    """The command was not called as it can be called."""


class Refused(ForewarnError):
    """The service answered, and said no."""

    def __init__(
        self, message: str, status: int, *, retry_after: float | None = None
    ) -> None:
        """Carry the HTTP `status`, and after how many seconds to come again."""
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after  # None: the service did not say

    def __reduce__(self) -> tuple[object, ...]:
        """Keep all that it carries when it is copied, or sent to another process."""
        return partial(type(self), retry_after=self.retry_after), (
            str(self),
            self.status,
        )


class Unreachable(ForewarnError):
    """There was no answer."""


class Lost(Unreachable):
    """The connection broke; whether anything was done is unknown."""


class Misunderstood(ForewarnError):
    """The answer is not what this version of forewarn expects."""


class Closed(ForewarnError):
    """The client was closed by its owner."""
