"""Which rule an event falls under, and why."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fnmatch import fnmatchcase

from forewarn.agent.plan import Concerns, Range, Rule
from forewarn.agent.windows import is_in, local_time, shown
from forewarn.protocol.types import EventStatus, ScheduledEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a rule may ask, and the event does not say itself."""

    is_mine: bool  # it names this VM
    notice: float | None  # seconds left; None: it has started, or does not say
    now: datetime  # with its zone


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Whether one rule's conditions hold, and why."""

    rule: str
    holds: bool
    why: tuple[str, ...]  # sentences: all conditions if it holds, else those that fail


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """The first rule whose conditions hold, and what was found of each."""

    rule: Rule | None  # None: none of them
    reasons: tuple[Reason, ...]  # one for each rule, in their order

    @property
    def why(self) -> tuple[str, ...]:
        """Why that rule was chosen, or why no rule was."""
        if self.rule is None:
            return tuple(
                f"rule {each.rule} does not match: {'; '.join(each.why)}"
                for each in self.reasons
            )
        return next(each.why for each in self.reasons if each.holds)


# --- judging -----------------------------------------------------------------


def judge(
    rules: Sequence[Rule], event: ScheduledEvent, situation: Situation
) -> Verdict:
    """Find the first of `rules` that matches, and say why each does or does not."""
    reasons = tuple(_reason(rule, event, situation) for rule in rules)
    found = (rule for rule, each in zip(rules, reasons, strict=True) if each.holds)
    return Verdict(rule=next(found, None), reasons=reasons)


def _reason(rule: Rule, event: ScheduledEvent, situation: Situation) -> Reason:
    answers = [condition(rule, event, situation) for condition in _CONDITIONS]
    asked = [answer for answer in answers if answer is not None]
    holds = all(held for held, _ in asked)
    why = tuple(sentence for held, sentence in asked if held == holds)
    return Reason(rule=rule.name, holds=holds, why=why or ("it takes every event",))


#: Whether a condition holds, and that in a sentence; None: the rule has none such.
_Answer = tuple[bool, str] | None


def _types(rule: Rule, event: ScheduledEvent, _: Situation) -> _Answer:
    if rule.types is None:
        return None
    if _has(rule.types, event.type):
        return True, f"its type is {event.type}"
    return False, f"its type is {event.type or 'not told'}, not {_any_of(rule.types)}"


def _sources(rule: Rule, event: ScheduledEvent, _: Situation) -> _Answer:
    if rule.sources is None:
        return None
    if event.source is not None and _has(rule.sources, event.source):
        return True, f"its source is {event.source}"
    source = event.source or "not told"
    return False, f"its source is {source}, not {_any_of(rule.sources)}"


def _duration(rule: Rule, event: ScheduledEvent, _: Situation) -> _Answer:
    if rule.duration is None:
        return None
    if event.duration is None:
        return False, "how long it lasts is not known"
    return _within(rule.duration, event.duration, "it is to last")


def _notice(rule: Rule, event: ScheduledEvent, situation: Situation) -> _Answer:
    if rule.notice is None:
        return None
    if situation.notice is not None:
        return _within(rule.notice, situation.notice, "the notice left is")
    if event.status == EventStatus.STARTED:
        return False, "it has started, so no notice is left"
    return False, "how much notice is left is not known"


def _concerns(rule: Rule, _: ScheduledEvent, situation: Situation) -> _Answer:
    match rule.concerns:
        case Concerns.ANYONE:
            return None
        case Concerns.ME:
            said = "names" if situation.is_mine else "does not name"
            return situation.is_mine, f"it {said} this VM"
        case Concerns.OTHERS:
            said = "this VM" if situation.is_mine else "others only"
            return not situation.is_mine, f"it names {said}"


def _description(rule: Rule, event: ScheduledEvent, _: Situation) -> _Answer:
    if rule.description is None:
        return None
    holds = fnmatchcase(event.description.lower(), rule.description.lower())
    said = "fits" if holds else "does not fit"
    return holds, f'its description {said} "{rule.description}"'


def _window(rule: Rule, _: ScheduledEvent, situation: Situation) -> _Answer:
    if rule.window is None:
        return None
    holds = is_in(rule.window, situation.now)
    said = "within" if holds else "outside"
    when = local_time(rule.window, situation.now)
    return holds, f"{when} is {said} the window {shown(rule.window)}"


_CONDITIONS: tuple[Callable[[Rule, ScheduledEvent, Situation], _Answer], ...] = (
    _types,
    _sources,
    _duration,
    _notice,
    _concerns,
    _description,
    _window,
)


# --- words and ranges --------------------------------------------------------


def _has(words: Iterable[str], word: str) -> bool:
    return word.lower() in {each.lower() for each in words}


def _any_of(words: Iterable[str]) -> str:
    return " or ".join(sorted(words))


def _within(bounds: Range, seconds: float, what: str) -> tuple[bool, str]:
    said = f"{what} {_seconds(seconds)}"
    if bounds.least is not None and seconds < bounds.least:
        return False, f"{said}, less than {_seconds(bounds.least)}"
    if bounds.most is not None and seconds > bounds.most:
        return False, f"{said}, more than {_seconds(bounds.most)}"
    return True, said


def _seconds(number: float) -> str:
    return f"{f'{number:.1f}'.removesuffix('.0')} s"


# --- rules that come too late ------------------------------------------------


def taken_before(rules: Sequence[Rule], later: Rule) -> tuple[str, ...]:
    """Name those of `rules` that leave nothing for `later`; empty: it has its part."""
    if later.types is None:
        parts = [later]
    else:
        parts = [replace(later, types=frozenset({each})) for each in later.types]
    takers = [
        next((each for each in rules if _covers(each, part)), None) for part in parts
    ]
    names = tuple(dict.fromkeys(each.name for each in takers if each is not None))
    return names if None not in takers else ()


def _covers(earlier: Rule, later: Rule) -> bool:
    """Whether `earlier` takes every event that `later` could match."""
    return (
        _all_among(later.types, earlier.types)
        and _all_among(later.sources, earlier.sources)
        and _all_within(later.duration, earlier.duration)
        and _all_within(later.notice, earlier.notice)
        and earlier.concerns in (Concerns.ANYONE, later.concerns)
        and earlier.description in (None, "*", later.description)
        and earlier.window in (None, later.window)
    )


def _all_among(words: Iterable[str] | None, others: Iterable[str] | None) -> bool:
    if others is None:
        return True
    return words is not None and all(_has(others, each) for each in words)


def _all_within(inner: Range | None, outer: Range | None) -> bool:
    if outer is None:
        return True
    if inner is None:
        return False
    least = outer.least is None or (
        inner.least is not None and inner.least >= outer.least
    )
    most = outer.most is None or (inner.most is not None and inner.most <= outer.most)
    return least and most
