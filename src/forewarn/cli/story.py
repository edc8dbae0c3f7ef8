"""Story of a maintenance operation: dated entries and sentences from the service."""

import re
from collections.abc import Iterator

from forewarn.cli.answers import Answer, answer
from forewarn.cli.api import Api
from forewarn.cli.tables import moment, paragraph, unbroken, write
from forewarn.errors import Refused

_COMMAND = re.compile(r"`[^`]*`")
_MARGIN = len("  12:15:00  ")


def write_story(api: Api, path: str) -> None:
    """Print the story of the maintenance operation at `path`, if there is one."""
    try:
        story = answer(api.request("GET", f"{path}/story"))
    except Refused as refusal:
        if refusal.status != 404:
            raise
        return  # the service is older than this command
    for line in _lines(story):
        write(line)
    write_sentences(story)


def write_sentences(told: Answer) -> None:
    """Print each sentence, wrapped, on a new line."""
    for sentence in told.names("sentences"):
        write(_wrapped(sentence))


def _lines(story: Answer) -> Iterator[str]:
    day = None
    for entry in story.parts("entries"):
        at = moment(entry.time("at")) or ""
        date, _, time = at.removesuffix("Z").partition(" ")
        if date != day:
            day = date
            yield f"story of {date}, in UTC"
        yield _wrapped(f"  {time}  {entry.text('what')}", _MARGIN)


def _wrapped(sentence: str, indent: int = 2) -> str:
    """Wrap a sentence, but never inside a command, so that it can be copied."""
    return paragraph(_COMMAND.sub(lambda match: unbroken(match[0]), sentence), indent)
