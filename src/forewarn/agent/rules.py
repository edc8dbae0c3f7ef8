"""Rules: which rule matches an event and why, including time windows.

1. The first rule whose conditions all hold is chosen. All rules are explained.
2. Word comparisons ignore case, and ranges include their bounds.
3. Time zones come from the machine's time zone database, except for UTC.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from fnmatch import fnmatchcase
from zoneinfo import ZoneInfo

from forewarn.agent.config.plan import NumberRange, Rule, RuleScope, Window
from forewarn.protocol.types import EventStatus, ScheduledEvent

#: Names as in the configuration file, starting with Monday.
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Inputs to a rule's conditions that the event itself does not contain."""

    is_mine: bool  # whether it lists this VM
    notice: float | None  # seconds left, from `notice_left`
    now: datetime  # with its time zone


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchReason:
    """Whether one rule's conditions hold and why."""

    rule: str
    holds: bool
    why: tuple[str, ...]  # sentences: all conditions if they hold, else the failed ones


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleMatch:
    """The first rule whose conditions hold and the reasons for every rule."""

    rule: Rule | None  # None if no rule matches
    reasons: tuple[MatchReason, ...]  # one for each rule, in order

    @property
    def why(self) -> tuple[str, ...]:
        """Why this rule was chosen, or why no rule matches."""
        if self.rule is None:
            return tuple(
                f"rule {reason.rule} does not match: {'; '.join(reason.why)}"
                for reason in self.reasons
            )
        return next(reason.why for reason in self.reasons if reason.holds)


def match_rule(
    rules: Sequence[Rule], event: ScheduledEvent, situation: Situation
) -> RuleMatch:
    """Return the first of `rules` that matches, with the reasons for each rule."""
    reasons = tuple(_reason(rule, event, situation) for rule in rules)
    matching = (
        rule for rule, reason in zip(rules, reasons, strict=True) if reason.holds
    )
    return RuleMatch(rule=next(matching, None), reasons=reasons)


def notice_left(event: ScheduledEvent, now: datetime) -> float | None:
    """Return the seconds until an event may start, or None if started or unknown."""
    if event.not_before is None or event.status == EventStatus.STARTED:
        return None
    return max((event.not_before - now).total_seconds(), 0.0)


def covering_rules(rules: Sequence[Rule], later: Rule) -> tuple[str, ...]:
    """Return the names of `rules` that match everything `later` could match.

    The result is empty if `later` can still match some events.
    """
    if later.types is None:
        parts = [later]
    else:
        parts = [replace(later, types=frozenset({type_})) for type_ in later.types]
    covering = [
        next((rule for rule in rules if _covers(rule, part)), None) for part in parts
    ]
    names = tuple(dict.fromkeys(rule.name for rule in covering if rule is not None))
    return names if None not in covering else ()


def is_open(window: Window, moment: datetime) -> bool:
    """Return whether `moment` is within the window, in the window's time zone."""
    local = moment.astimezone(_zone(window.zone))
    today, clock = local.weekday(), local.time()
    yesterday = (local - _DAY).weekday()
    if window.begins == window.ends:
        return today in window.days
    if window.begins < window.ends:
        return today in window.days and window.begins <= clock < window.ends
    began_today = today in window.days and clock >= window.begins
    return began_today or (yesterday in window.days and clock < window.ends)


# --- conditions --------------------------------------------------------------


def _reason(rule: Rule, event: ScheduledEvent, situation: Situation) -> MatchReason:
    checks = [condition(rule, event, situation) for condition in _CONDITIONS]
    applicable = [check for check in checks if check is not None]
    holds = all(held for held, _ in applicable)
    why = tuple(sentence for held, sentence in applicable if held == holds)
    return MatchReason(
        rule=rule.name, holds=holds, why=why or ("it matches every event",)
    )


#: Whether a condition holds, with a sentence; None if the rule has no such condition.
_Check = tuple[bool, str] | None


def _types(rule: Rule, event: ScheduledEvent, _: Situation) -> _Check:
    return _one_of("type", event.type, rule.types)


def _sources(rule: Rule, event: ScheduledEvent, _: Situation) -> _Check:
    return _one_of("source", event.source, rule.sources)


def _duration(rule: Rule, event: ScheduledEvent, _: Situation) -> _Check:
    if rule.duration is None:
        return None
    if event.duration is None:
        return False, "its duration is unknown"
    return _within(rule.duration, event.duration, "its duration is")


def _notice(rule: Rule, event: ScheduledEvent, situation: Situation) -> _Check:
    if rule.notice is None:
        return None
    if situation.notice is not None:
        return _within(rule.notice, situation.notice, "the notice left is")
    if event.status == EventStatus.STARTED:
        return False, "it has started, so no notice is left"
    return False, "the notice left is unknown"


def _concerns(rule: Rule, _: ScheduledEvent, situation: Situation) -> _Check:
    match rule.concerns:
        case RuleScope.ANYONE:
            return None
        case RuleScope.ME:
            wording = "lists" if situation.is_mine else "does not list"
            return situation.is_mine, f"it {wording} this VM"
        case RuleScope.OTHERS:
            wording = "this VM" if situation.is_mine else "only other VMs"
            return not situation.is_mine, f"it lists {wording}"


def _description(rule: Rule, event: ScheduledEvent, _: Situation) -> _Check:
    if rule.description is None:
        return None
    holds = fnmatchcase(event.description.lower(), rule.description.lower())
    wording = "matches" if holds else "does not match"
    return holds, f'its description {wording} "{rule.description}"'


def _window(rule: Rule, _: ScheduledEvent, situation: Situation) -> _Check:
    if rule.window is None:
        return None
    holds = is_open(rule.window, situation.now)
    wording = "within" if holds else "outside"
    when = _local_time(rule.window, situation.now)
    return holds, f"{when} is {wording} the window {_format_window(rule.window)}"


_CONDITIONS: tuple[Callable[[Rule, ScheduledEvent, Situation], _Check], ...] = (
    _types,
    _sources,
    _duration,
    _notice,
    _concerns,
    _description,
    _window,
)


def _has(words: Iterable[str], word: str) -> bool:
    return word.lower() in {other.lower() for other in words}


def _one_of(noun: str, word: str | None, words: Iterable[str] | None) -> _Check:
    if words is None:
        return None
    sentence = f"its {noun} is {word or 'unknown'}"
    if word is not None and _has(words, word):
        return True, sentence
    return False, f"{sentence}, not {' or '.join(sorted(words))}"


def _within(bounds: NumberRange, seconds: float, what: str) -> tuple[bool, str]:
    sentence = f"{what} {_seconds(seconds)}"
    if bounds.least is not None and seconds < bounds.least:
        return False, f"{sentence}, less than {_seconds(bounds.least)}"
    if bounds.most is not None and seconds > bounds.most:
        return False, f"{sentence}, more than {_seconds(bounds.most)}"
    return True, sentence


def _seconds(number: float) -> str:
    return f"{f'{number:.1f}'.removesuffix('.0')} s"


# --- time windows ------------------------------------------------------------


def _local_time(window: Window, moment: datetime) -> str:
    """Format `moment` in the window's time zone."""
    local = moment.astimezone(_zone(window.zone))
    return f"{DAYS[local.weekday()]} {local:%H:%M}"


def _format_window(window: Window) -> str:
    """Format a window, for example "Sat, Sun 22:00 to 06:00, UTC"."""
    days = ", ".join(DAYS[day] for day in sorted(window.days))
    on = "" if len(window.days) == len(DAYS) else f"{days} "
    return f"{on}{window.begins:%H:%M} to {window.ends:%H:%M}, {window.zone}"


def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


# --- rules that never match --------------------------------------------------


def _covers(earlier: Rule, later: Rule) -> bool:
    """Return whether `earlier` matches every event that `later` could match."""
    return (
        _all_among(later.types, earlier.types)
        and _all_among(later.sources, earlier.sources)
        and _all_within(later.duration, earlier.duration)
        and _all_within(later.notice, earlier.notice)
        and earlier.concerns in (RuleScope.ANYONE, later.concerns)
        and earlier.description in (None, "*", later.description)
        and earlier.window in (None, later.window)
    )


def _all_among(words: Iterable[str] | None, others: Iterable[str] | None) -> bool:
    if others is None:
        return True
    return words is not None and all(_has(others, word) for word in words)


def _all_within(inner: NumberRange | None, outer: NumberRange | None) -> bool:
    if outer is None:
        return True
    if inner is None:
        return False
    least = outer.least is None or (
        inner.least is not None and inner.least >= outer.least
    )
    most = outer.most is None or (inner.most is not None and inner.most <= outer.most)
    return least and most
