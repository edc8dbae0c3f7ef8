"""Lint rules for requests: header, version, polling rate and behavior after a 429."""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise

from forewarn.core.lifecycle.policy import MINIMUM_NOTICE
from forewarn.formats import count, format_times, join_all
from forewarn.protocol.types import EventType
from forewarn.protocol.versions import NEWEST, VERSIONS
from forewarn.testing.lint.evidence import (
    RETRY_AFTER,
    CoursePart,
    Evidence,
    is_for_events,
)
from forewarn.testing.lint.findings import (
    LintRule,
    RuleResult,
    Severity,
    format_seconds,
    format_share,
    found,
    passed,
    unseen,
)
from forewarn.testing.rehearsal.program import describe_exit

_NOTICE = MINIMUM_NOTICE[EventType.PREEMPT].total_seconds()
_TOO_RARE = _NOTICE / 2  # seconds; a Preempt may end before it is seen
_RARE = _NOTICE / 4
_ALLOWED = 5  # requests per second and VM
_TOLERANCE = 0.25  # seconds by which a timer may fire early


def _never_asks(evidence: Evidence) -> RuleResult:
    if evidence.polls:
        return passed(f"polled {format_times(len(evidence.polls))}")
    if evidence.requests:
        first, total = evidence.requests[0], len(evidence.requests)
        one, some = "but not for events: it was", "but none for events; the first was"
        return found(
            f"sent {count(total, 'request')}, {one if total == 1 else some}"
            f" {first.method} {first.path}",
            at=first.since,
        )
    waited, ending = format_seconds(evidence.silence), evidence.ending
    if ending is not None:
        return found(
            f"{describe_exit(ending.code)} before it sent a request", at=ending.at
        )
    return found(f"sent no requests for {waited}")


def _no_header(evidence: Evidence) -> RuleResult:
    if not evidence.requests:
        return unseen("it sent no requests")
    bare = [e for e in evidence.requests if not e.is_marked and e.status == 400]
    if not bare:
        return passed("sent Metadata: true with every request")
    share = format_share(len(bare), len(evidence.requests), "request")
    which = "it was" if len(bare) == 1 else "the first was"
    return found(
        f"sent {share} without Metadata: true and received 400;"
        f" {which} a {bare[0].method}",
        at=bare[0].since,
    )


def _no_version(evidence: Evidence) -> RuleResult:
    requests = [e for e in evidence.requests if is_for_events(e) and e.is_marked]
    if not requests:
        return unseen("it sent no requests with the Metadata header")
    bad = [e for e in requests if e.version not in VERSIONS and e.status == 400]
    if not bad:
        versions = sorted({e.version for e in requests if e.version in VERSIONS})
        return passed(f"used {join_all(versions) or 'no version that was rejected'}")
    version = bad[0].version
    return found(
        f"sent {count(len(bad), 'request')}"
        f" {f'with api-version {version}' if version else 'without an api-version'}"
        " and received 400",
        at=bad[0].since,
    )


def _old_version(evidence: Evidence) -> RuleResult:
    versions = {e.version for e in evidence.polls if e.version in VERSIONS}
    if not versions:
        return unseen("it sent no polls with a valid version")
    oldest = min(versions)
    hidden = sorted(NEWEST.types - VERSIONS[oldest].types)
    if hidden:
        first = next(e for e in evidence.polls if e.version == oldest)
        return found(
            f"used {oldest}, which hides {join_all(hidden)} events", at=first.since
        )
    return passed(f"used {oldest}, which includes all event types")


def _proxy(evidence: Evidence) -> RuleResult:
    if not evidence.requests:
        return unseen("it sent no requests")
    if evidence.forwarded:
        share = format_share(evidence.forwarded, len(evidence.requests), "request")
        return found(f"sent {share} with X-Forwarded-For and received 400")
    return passed("sent no request with X-Forwarded-For")


def _rare_polls(evidence: Evidence) -> RuleResult:
    span, polls = evidence.span(CoursePart.QUIET), evidence.polls_in(CoursePart.QUIET)
    if span is None or not polls:
        return unseen("it did not poll while nothing was announced")
    has_ended = evidence.ending is not None and evidence.last_part is CoursePart.QUIET
    times = [poll.since for poll in polls] + ([] if has_ended else [span.ended])
    pauses = [(after - before, before) for before, after in pairwise(times)]
    longest, at = max(pauses, default=(0.0, times[0]))
    if longest > _RARE:
        severity = Severity.ERROR if longest >= _TOO_RARE else Severity.WARNING
        text = f"did not poll for {format_seconds(longest)}"
        return found(text, at=at, severity=severity)
    if evidence.pause is None:
        return unseen("it polled only once before it ended")
    return passed(f"polled at least once every {format_seconds(evidence.pause)}")


def _frequent_polls(evidence: Evidence) -> RuleResult:
    span = evidence.span(CoursePart.QUIET)
    if span is None or not evidence.polls:
        return unseen("it did not poll while nothing was announced")
    highest, at = _busiest_second(
        e.since for e in evidence.requests if span.has(e.since)
    )
    if highest > _ALLOWED:
        return found(
            f"sent {highest} requests in one second while nothing was announced", at=at
        )
    return passed(f"sent at most {count(highest, 'request')} per second")


def _hammers(evidence: Evidence) -> RuleResult:
    refused = sorted(e.since for e in evidence.requests if e.status == 429)
    if not refused:
        return unseen("it received no 429")
    highest, at = _busiest_second(refused)
    if highest > _ALLOWED:
        return found(
            f"sent {highest} requests in one second while receiving 429", at=at
        )
    rate, usual = _rate(refused), _usual_rate(evidence)
    if rate > 2 and rate > 2 * usual:
        return found(
            f"sent {rate:.1f} requests per second while receiving 429,"
            f" and {usual:.1f} before",
            at=refused[0],
            severity=Severity.WARNING,
        )
    return passed(f"sent {count(len(refused), 'request')} while receiving 429")


def _retry_after(evidence: Evidence) -> RuleResult:
    requests = sorted(evidence.requests, key=lambda request: request.since)
    after = [
        (later.since - earlier.at, later.since)
        for earlier, later in pairwise(requests)
        if earlier.status == 429
    ]
    if not after:
        return unseen("it sent no requests after a 429")
    early = [item for item in after if item[0] < RETRY_AFTER - _TOLERANCE]
    soonest, at = early[0] if early else min(after)
    text = f"{format_seconds(soonest)} after a 429 with Retry-After: {RETRY_AFTER}"
    if early:
        return found(f"retried {text}", at=at)
    return passed(f"retried {text}")


def _busiest_second(moments: Iterable[float]) -> tuple[int, float]:
    """Return the largest number of `moments` within one second, and its start."""
    ordered = sorted(moments)
    numbers = (
        (bisect_left(ordered, first + 1) - index, first)
        for index, first in enumerate(ordered)
    )
    return max(numbers, key=lambda item: item[0], default=(0, 0.0))


def _rate(moments: Sequence[float]) -> float:
    """Return requests per second; less than a second counts as one second."""
    return (len(moments) - 1) / max(moments[-1] - moments[0], 1.0)


def _usual_rate(evidence: Evidence) -> float:
    polls = evidence.polls_in(CoursePart.QUIET)
    return _rate([poll.since for poll in polls]) if polls else 0.0


RULES: Sequence[LintRule] = (
    LintRule(
        id="never-asks",
        severity=Severity.ERROR,
        hurts="A program that does not poll receives no events.",
        remedy="Poll /metadata/scheduledevents at $FOREWARN_ENDPOINT, or at"
        " 169.254.169.254 on a network where this address is available"
        " (--metadata).",
        facts=("1.1a", "1.1b"),
        check=_never_asks,
    ),
    LintRule(
        id="no-header",
        severity=Severity.ERROR,
        hurts="Requests without the header fail with 400.",
        remedy="Send `Metadata: true` with every GET and POST.",
        facts=("2.1a", "2.2a"),
        check=_no_header,
    ),
    LintRule(
        id="no-api-version",
        severity=Severity.ERROR,
        hurts="Requests without a valid api-version for scheduled events fail with 400."
        " Most /metadata/instance versions are not valid here.",
        remedy=f"Use api-version={NEWEST.name}.",
        facts=("3.0a", "3.1a", "3.1b"),
        check=_no_version,
    ),
    LintRule(
        id="old-api-version",
        severity=Severity.WARNING,
        hurts="Older versions omit event types that were added later.",
        remedy=f"Use api-version={NEWEST.name}.",
        facts=("3.0d", "3.0e", "3.4a", "3.4b"),
        check=_old_version,
    ),
    LintRule(
        id="through-a-proxy",
        severity=Severity.ERROR,
        hurts="The service rejects requests that a proxy has forwarded.",
        remedy="Do not use a proxy, even if http_proxy is set.",
        facts=("1.8a",),
        check=_proxy,
    ),
    LintRule(
        id="rare-polls",
        severity=Severity.ERROR,
        hurts="A Preempt has 30 seconds of notice. A program that polls infrequently"
        " sees it late or not at all.",
        remedy="Poll once per second.",
        facts=("6.1a", "6.16a", "8.3a"),
        check=_rare_polls,
    ),
    LintRule(
        id="frequent-polls",
        severity=Severity.WARNING,
        hurts="All programs on a VM share a limit of five requests per second."
        " Further requests fail with 429.",
        remedy="Poll once per second.",
        facts=("8.3a", "8.3b"),
        check=_frequent_polls,
    ),
    LintRule(
        id="hammers",
        severity=Severity.ERROR,
        hurts="Without a pause, the program keeps receiving 429, and so do the other"
        " programs on the VM.",
        remedy="After a 429, wait at least a second before the next request.",
        facts=("8.0h", "8.3b"),
        check=_hammers,
    ),
    LintRule(
        id="ignores-retry-after",
        severity=Severity.SUGGESTION,
        hurts="A service that sends Retry-After rejects requests until that time has"
        " passed. forewarn sends it; whether Azure does is not known.",
        remedy="If the response has Retry-After, wait that long.",
        facts=("8.0h", "8.3c"),
        check=_retry_after,
    ),
)
