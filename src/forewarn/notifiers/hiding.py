"""Redaction of our secrets where a response repeats them."""

from collections.abc import Iterable, Iterator, Sequence
from urllib.parse import SplitResult, unquote, unquote_plus

_SHORTEST = 8  # characters; shorter words are too common to redact
_INSTEAD = "***"


def words_of(text: str) -> Iterator[str]:
    """Yield the words of `text` that may be tokens; short ones are not."""
    return (word for word in text.split() if len(word) >= _SHORTEST)


def words_of_url(parts: SplitResult) -> Iterator[str]:
    """Yield the possible secrets of a URL: user, password, query; encoded or not."""
    yield from _both(parts.password or "")
    yield from words_of(unquote(parts.username or ""))
    yield from _both(parts.query)
    for pair in parts.query.split("&"):
        value = pair.partition("=")[2]
        yield from (word for word in _both(value) if len(word) >= _SHORTEST)


def longest_first(words: Iterable[str]) -> Sequence[str]:
    """Sort `words` so that none hides a longer one that begins with it."""
    return sorted({*filter(None, words)}, key=len, reverse=True)


def without(text: str, words: Sequence[str], *, is_cut: bool = False) -> str:
    """Redact `words` in `text`; if it `is_cut`, also a partial word at its end."""
    for word in words:
        text = text.replace(word, _INSTEAD)
    if not is_cut:
        return text
    begun = max((_begun(text, word) for word in words), default=0)
    return text[: len(text) - begun] + _INSTEAD if begun else text


def _both(coded: str) -> Iterator[str]:
    yield from (coded, unquote(coded), unquote_plus(coded))


def _begun(text: str, word: str) -> int:
    """Return how many characters of `word` are at the end of `text`."""
    lengths = range(len(word) - 1, 0, -1)
    return next((length for length in lengths if text.endswith(word[:length])), 0)
