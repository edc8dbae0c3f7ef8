"""Log lines for journal entries: the level, the text and the JSON fields of each.

1. `LEVELS` has an entry for every kind of fact, which a test checks.
2. One command can change a fleet of any size, so its changes share one line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.commands import is_retry_left
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.queries.phrases import (
    SHORT,
    by_whom,
    circumstances,
    describe,
    fact_text,
    start_text,
    start_time,
)
from forewarn.core.queries.views import Json, rfc3339
from forewarn.formats import format_duration, join_names

#: The largest number of names in a list in a JSON line.
MOST_NAMES = 100


class LogLevel(StrEnum):
    """The level of a log line."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


#: The level of each kind of fact; for failed work, the highest one.
LEVELS: Mapping[type[f.Fact], LogLevel] = {
    f.FleetChanged: LogLevel.INFO,
    f.Enabled: LogLevel.INFO,
    f.Announced: LogLevel.INFO,
    f.Approved: LogLevel.INFO,
    f.VmsLeft: LogLevel.INFO,
    f.Withdrawn: LogLevel.DEBUG,  # follows VmsLeft
    f.Started: LogLevel.INFO,
    f.WorkBegan: LogLevel.DEBUG,
    f.WorkDone: LogLevel.DEBUG,  # up to one for each VM
    f.WorkFailed: LogLevel.ERROR,
    f.WorkPrinted: LogLevel.DEBUG,
    f.WorkRetried: LogLevel.INFO,
    f.WorkEnded: LogLevel.INFO,
    f.Completed: LogLevel.INFO,
    f.Canceled: LogLevel.INFO,
    f.Closed: LogLevel.WARNING,
    f.Published: LogLevel.DEBUG,
    f.Seen: LogLevel.DEBUG,
    f.OutageEnded: LogLevel.WARNING,
    f.TokenCreated: LogLevel.INFO,
    f.TokenRevoked: LogLevel.INFO,
    f.AccessRefused: LogLevel.WARNING,
}

#: Fields of facts that are also fields of JSON lines.
_FIELDS = ("event", "group", "by", "via", "attempt", "reason", "detail")


def merged(entries: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
    """Merge consecutive fleet changes by the same command into one entry."""
    before: JournalEntry | None = None
    for entry in entries:
        if before is not None:
            joined = _joined(before.fact, entry.fact)
            if joined is not None:
                before = replace(entry, fact=joined)
                continue
            yield before
        before = entry
    if before is not None:
        yield before


def _joined(first: f.Fact, second: f.Fact) -> f.FleetChanged | None:
    """Return two parts of one fleet change as one fact; return None for others."""
    if not isinstance(first, f.FleetChanged) or not isinstance(second, f.FleetChanged):
        return None
    if (first.at, first.by) != (second.at, second.by):
        return None
    return replace(
        first,
        hosts=first.hosts + second.hosts,
        groups=first.groups + second.groups,
        vms=first.vms + second.vms,
        removed_hosts=first.removed_hosts + second.removed_hosts,
        removed_groups=first.removed_groups + second.removed_groups,
        removed_vms=first.removed_vms + second.removed_vms,
        removed_from=first.removed_from + second.removed_from,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogLine:
    """The log line for one journal entry; text and fields are formatted on demand."""

    entry: JournalEntry
    rules: Rules
    #: The maintenance operation before and after the entry; None if it is about none.
    before: Maintenance | None = None
    after: Maintenance | None = None

    @property
    def level(self) -> LogLevel:
        """The level; only the failure that makes an operation stuck is an error."""
        if isinstance(self.entry.fact, f.WorkFailed) and not self._is_newly_stuck:
            return LogLevel.WARNING
        return LEVELS[type(self.entry.fact)]

    @property
    def text(self) -> str:
        """The sentence; it names the maintenance operation by its label and title."""
        if self.after is None:
            text = fact_text(self.entry.fact)
            is_outage = isinstance(self.entry.fact, f.OutageEnded)
            return f"{text}; downtime does not count as notice" if is_outage else text
        what = self._what(self.entry.fact, self.after)
        return f"{self.after.label} {describe(self.after)}: {what}"

    @property
    def fields(self) -> Json:
        """The fields of a JSON line in addition to time, level, logger and message."""
        fact, after = self.entry.fact, self.after
        fields: Json = {
            "fact": type(fact).__name__,
            "position": self.entry.position,
            "at": rfc3339(fact.at),
        }
        if after is not None:
            fields["maintenance"] = after.label
            fields["title"] = describe(after)
            fields["type"] = after.type.value
            fields["groups"] = after.groups
            fields["vms"] = getattr(fact, "vms", None)
        if isinstance(fact, f.Announced):
            fields["not_before"] = rfc3339(fact.announced.not_before)
            fields["vms"] = fact.announced.vms
            fields["reason"] = fact.announced.reason
        fields |= {name: getattr(fact, name) for name in _FIELDS if hasattr(fact, name)}
        if self._is_newly_stuck and after is not None:
            fields["command"] = _explain(after)
        return {
            name: [*value[:MOST_NAMES]] if isinstance(value, tuple) else value
            for name, value in fields.items()
            if value not in (None, "")
        }

    @property
    def _is_retry_left(self) -> bool:
        return self.after is not None and is_retry_left(self.after, self.rules)

    @property
    def _is_newly_stuck(self) -> bool:
        was_stuck = self.before is not None and self.before.stuck_since is not None
        is_failure = isinstance(self.entry.fact, f.WorkFailed)
        return is_failure and not was_stuck and not self._is_retry_left

    def _what(self, fact: f.Fact, after: Maintenance) -> str:
        what = fact_text(fact)
        if self._is_newly_stuck:
            return f"{what}; run `{_explain(after)}`"
        if isinstance(fact, f.WorkFailed) and self._is_retry_left:
            return f"{what.removeprefix('stuck: ')}; it will be retried automatically"
        describe_fully = _TEXTS.get(type(fact))
        return what if describe_fully is None else describe_fully(fact, after)


def _explain(maintenance: Maintenance) -> str:
    return f"forewarn maintenance explain {maintenance.label}"


def _announced(fact: f.Announced, after: Maintenance) -> str:
    parts = [
        f"announced {by_whom(fact.by)}, {start_time(after)}",
        f"{'group' if len(after.groups) == 1 else 'groups'} {join_names(after.groups)}",
        *circumstances(after),
    ]
    return "; ".join(parts)


def _approved(fact: f.Approved, after: Maintenance) -> str:
    events = after.live_events
    done = len(events) - len(after.unapproved)
    number = f", {done} of {len(events)} approved" if len(events) > 1 else ""
    return f"{fact_text(fact)} (event {fact.event[:SHORT]}{number})"


def _started(fact: f.Started, after: Maintenance) -> str:
    text = start_text(after, fact.at)
    return f"{text} (emergency)" if after.emergency else text


def _completed(fact: f.Completed, after: Maintenance) -> str:
    if after.started_at is None:
        return "completed"
    return f"completed {format_duration(fact.at - after.started_at)} after the start"


_TEXTS: Mapping[type[f.Fact], Callable[[Any, Maintenance], str]] = {  # Any: one kind
    f.Announced: _announced,
    f.Approved: _approved,
    f.Started: _started,
    f.Completed: _completed,
}
