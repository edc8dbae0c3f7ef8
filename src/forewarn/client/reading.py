"""Result of one request for the document."""

from dataclasses import dataclass, field

from forewarn.client.http import Answer
from forewarn.client.reckoning import Reckoning
from forewarn.protocol.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One response to a GET of the document."""

    document: Document | None  # None if unchanged since the tag that was sent
    tag: str | None  # for the next request; None if the service sends no ETag
    is_held: bool  # the service supports long polls
    is_blank: bool = False  # an empty body: no events, or no change
    reckoning: Reckoning | None = None  # None if the response had no date
    # The raw status, headers and body; None if no request was sent.
    answer: Answer | None = field(default=None, compare=False, repr=False)
