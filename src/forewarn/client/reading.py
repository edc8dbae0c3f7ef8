"""One answer to the question for the document."""

from dataclasses import dataclass, field

from forewarn.client.http import Answer
from forewarn.client.reckoning import Reckoning
from forewarn.protocol.types import Document


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one GET has told."""

    document: Document | None  # None: it is the one of the tag that was sent
    tag: str | None  # to be sent with the next question; None: none is offered
    is_held: bool  # the service lets those wait who ask it to
    is_blank: bool = False  # a body without a byte: no event, or no news
    reckoning: Reckoning | None = None  # None: the answer bore no date
    # As it came: status, headers and body; None: nobody was asked.
    answer: Answer | None = field(default=None, compare=False, repr=False)
