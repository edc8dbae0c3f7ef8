"""Commands on one or more names: each name is checked before anything changes.

1. If there are several names, each command first runs dry. If any would be refused,
   nothing is changed.
2. If a command nevertheless fails, the error message lists the names for which it was
   carried out, and those that were not attempted.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from re import sub
from typing import Generic, TypeVar

from forewarn.cli.output import paragraph, write_error
from forewarn.cli.responses import object_from
from forewarn.errors import ForewarnError, Incomplete, Refused

_T = TypeVar("_T")

_MOST_EFFECTS = 50  # lines


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult(Generic[_T]):
    """The results of a command, and the error that stopped it, if any."""

    results: Sequence[_T]
    error: ForewarnError | None = None

    def finish(self, code: int) -> int:
        """Return `code`, or raise the error."""
        if self.error is not None:
            raise self.error
        return code


def distinct(names: Iterable[str]) -> list[str]:
    """Return `names` without duplicates, ignoring case."""
    spellings: dict[str, str] = {}
    for name in names:
        spellings.setdefault(name.lower(), name)
    return [*spellings.values()]


def run_each(
    names: Sequence[str], run: Callable[[str], _T], check: Callable[[str], object]
) -> BatchResult[_T]:
    """Run a command for each name, if `check` accepts all of several names."""
    if len(names) > 1:
        check_each(names, check)
    results: list[_T] = []
    for number, name in enumerate(names):
        try:
            results.append(run(name))
        except ForewarnError as error:
            if not results:
                raise
            write_error(str(error))
            parts = [f"done: {', '.join(names[:number])}", f"failed: {name}"]
            if rest := names[number + 1 :]:
                parts.append(f"not attempted: {', '.join(rest)}")
            return BatchResult(results=results, error=Incomplete("; ".join(parts)))
    return BatchResult(results=results)


def check_each(names: Sequence[str], check: Callable[[str], _T]) -> Sequence[_T]:
    """Return the results of `check`; if it refuses any of several names, report all."""
    if len(names) == 1:
        return [check(names[0])]
    results, refusals = [], []
    for name in names:
        try:
            results.append(check(name))
        except Refused as refusal:
            refusals.append(str(refusal))
    if refusals:
        for refusal_text in dict.fromkeys(refusals):
            write_error(refusal_text)
        raise Incomplete("nothing was changed")
    return results


@contextmanager
def naming_options(flags: Mapping[str, str]) -> Iterator[None]:
    """Replace field names of the API in error messages with the options in `flags`."""
    try:
        yield
    except Refused as refusal:
        text = str(refusal)
        for field, flag in flags.items():
            # A field that is a common word is recognized only at the start.
            text = sub(
                rf"\b{field}\b" if "_" in field else f"^{field}(?=:)", flag, text
            )
        raise Refused(text, refusal.status) from refusal


# --- dry runs ----------------------------------------------------------------


def effect_lines(plain: object) -> Iterator[str]:
    """Describe what a dry run would change, besides what it would announce."""
    effects = object_from(plain).parts("effects")
    for effect in effects[:_MOST_EFFECTS]:
        yield paragraph(effect.text("text") or "")
    if len(effects) > _MOST_EFFECTS:
        yield f"and {len(effects) - _MOST_EFFECTS} more; for all, add -o json"


def merged(responses: Sequence[object]) -> dict[str, object]:
    """Concatenate the lists in several responses."""
    lists: dict[str, list[object]] = {}
    for response in responses:
        for key, value in object_from(response).plain.items():
            lists.setdefault(key, []).extend(value if isinstance(value, list) else [])
    return {**lists}
