"""Takes out of answers what the other side repeats of our secrets."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import SplitResult, unquote, unquote_plus

_SHORTEST = 8  # characters; a shorter word may stand for anything
_INSTEAD = "***"


def words_of(text: str) -> Iterator[str]:
    """Name what may be a token in `text`; short words are none."""
    return (word for word in text.split() if len(word) >= _SHORTEST)


def words_of_url(parts: SplitResult) -> Iterator[str]:
    """Name what may be secret in a URL: user, password and query, coded or not."""
    yield from _both(parts.password or "")
    yield from words_of(unquote(parts.username or ""))
    yield from _both(parts.query)
    for pair in parts.query.split("&"):
        value = pair.partition("=")[2]
        yield from (word for word in _both(value) if len(word) >= _SHORTEST)


def longest_first(words: Iterable[str]) -> Sequence[str]:
    """Put `words` in an order in which none spoils another that begins with it."""
    return sorted({*filter(None, words)}, key=len, reverse=True)


def without(text: str, words: Sequence[str], *, is_cut: bool = False) -> str:
    """Take `words` out of `text`; if it `is_cut`, also the half of one at its end."""
    for word in words:
        text = text.replace(word, _INSTEAD)
    if not is_cut:
        return text
    begun = max((_begun(text, word) for word in words), default=0)
    return text[: len(text) - begun] + _INSTEAD if begun else text


def _both(coded: str) -> Iterator[str]:
    yield from (coded, unquote(coded), unquote_plus(coded))


def _begun(text: str, word: str) -> int:
    """How many characters of `word` stand at the end of `text`."""
    lengths = range(len(word) - 1, 0, -1)
    return next((each for each in lengths if text.endswith(word[:each])), 0)
