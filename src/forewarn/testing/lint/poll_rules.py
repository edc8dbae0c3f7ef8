"""Lint rules on requests: header, version, polling rate, behavior after a 429."""

from collections.abc import Sequence
from itertools import pairwise

from forewarn.core.lifecycle.policy import MINIMUM_NOTICE
from forewarn.formats import format_times
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
    found,
    passed,
    unseen,
)

_NOTICE = MINIMUM_NOTICE[EventType.PREEMPT].total_seconds()
_TOO_RARE = _NOTICE / 2  # seconds; a Preempt may be over before it is seen
_RARE = _NOTICE / 4
_ALLOWED = 5  # requests per second and VM
_TOLERANCE = 0.25  # seconds by which a timer may fire early


def _never_asks(evidence: Evidence) -> RuleResult:
    if evidence.polls:
        return passed(f"asked for the document {format_times(len(evidence.polls))}")
    if evidence.requests:
        first, count = evidence.requests[0], len(evidence.requests)
        return found(
            f"asked {format_times(count)}, never for the document;"
            f" the first was {first.method} {first.path}"
        )
    waited = format_seconds(evidence.silence)
    if evidence.ending is not None:
        return found(f"ended after {waited} and had asked nothing")
    return found(f"asked nothing for {waited}")


def _no_header(evidence: Evidence) -> RuleResult:
    if not evidence.requests:
        return unseen("it asked nothing")
    bare = [e for e in evidence.requests if not e.is_marked and e.status == 400]
    if not bare:
        return passed("every request carried Metadata: true")
    count, first = len(bare), bare[0]
    return found(
        f"sent {count} of {len(evidence.requests)} requests without Metadata: true,"
        f" the first a {first.method}; they were refused"
    )


def _no_version(evidence: Evidence) -> RuleResult:
    requests = [e for e in evidence.requests if is_for_events(e) and e.is_marked]
    if not requests:
        return unseen("no request with the header came")
    bad = [e for e in requests if e.version not in VERSIONS and e.status == 400]
    if not bad:
        versions = sorted({e.version for e in requests if e.version in VERSIONS})
        return passed(f"asked with {', '.join(versions) or 'nothing that was refused'}")
    how = f"with {bad[0].version}" if bad[0].version else "without one"
    return found(f"asked {format_times(len(bad))} {how}; that was refused")


def _old_version(evidence: Evidence) -> RuleResult:
    versions = {e.version for e in evidence.polls if e.version in VERSIONS}
    if not versions:
        return unseen("no question with a known version came")
    oldest = min(versions)
    hidden = sorted(NEWEST.types - VERSIONS[oldest].types)
    if hidden:
        return found(f"asks with {oldest}, which hides {' and '.join(hidden)}")
    return passed(f"asks with {oldest}, which has every type")


def _proxy(evidence: Evidence) -> RuleResult:
    if not evidence.requests:
        return unseen("it asked nothing")
    if evidence.forwarded:
        return found(
            f"sent X-Forwarded-For with {evidence.forwarded} of"
            f" {len(evidence.requests)} requests; they were refused"
        )
    return passed("no request carried X-Forwarded-For")


def _rare_polls(evidence: Evidence) -> RuleResult:
    span, polls = evidence.span(CoursePart.QUIET), evidence.polls_in(CoursePart.QUIET)
    if span is None or not polls:
        return unseen("it asked nothing while nothing happened")
    has_ended = evidence.ending is not None and evidence.last_part is CoursePart.QUIET
    rest = 0.0 if has_ended else span.ended - polls[-1].since
    longest = max(evidence.pause or 0.0, rest)
    text = f"let {format_seconds(longest)} pass without a question"
    if longest >= _TOO_RARE:
        return found(text)
    if longest > _RARE:
        return found(text, Severity.WARNING)
    if evidence.pause is None:
        return unseen("it asked only once before it ended")
    return passed(f"asks every {format_seconds(evidence.pause)} at the longest")


def _frequent_polls(evidence: Evidence) -> RuleResult:
    span = evidence.span(CoursePart.QUIET)
    if span is None or not evidence.polls:
        return unseen("it asked nothing while nothing happened")
    highest = _most_per_second(
        [e.since for e in evidence.requests if span.has(e.since)]
    )
    if highest > _ALLOWED:
        return found(f"sent {highest} requests within a second while nothing happened")
    return passed(f"sent {highest} requests at the most within a second")


def _hammers(evidence: Evidence) -> RuleResult:
    refused = sorted(e.since for e in evidence.requests if e.status == 429)
    if not refused:
        return unseen("it was never answered 429")
    highest = _most_per_second(refused)
    if highest > _ALLOWED:
        return found(f"sent {highest} requests within a second while answered 429")
    length = refused[-1] - refused[0]
    rate, usual = _rate(len(refused), length), _usual_rate(evidence)
    if rate > 2 and rate > 2 * usual:
        text = f"asked {rate:.1f} times a second while answered 429, before {usual:.1f}"
        return found(text, Severity.WARNING)
    return passed(
        f"asked {format_times(len(refused))} in {format_seconds(length)} of 429"
    )


def _retry_after(evidence: Evidence) -> RuleResult:
    requests = sorted(evidence.requests, key=lambda request: request.since)
    after = [
        later.since - earlier.at
        for earlier, later in pairwise(requests)
        if earlier.status == 429
    ]
    if not after:
        return unseen("it did not ask again after a 429")
    soonest = min(after)
    text = f"{format_seconds(soonest)} after a 429 that asked for {RETRY_AFTER} s"
    if soonest < RETRY_AFTER - _TOLERANCE:
        return found(f"asked again {text}")
    return passed(f"asked again {text}")


def _most_per_second(moments: Sequence[float]) -> int:
    """Return the largest number of `moments` within one second."""
    ordered = sorted(moments)
    return max(
        (sum(1 for at in ordered if first <= at < first + 1) for first in ordered),
        default=0,
    )


def _rate(count: int, length: float) -> float:
    """Return requests per second; two that come almost at once make no rate."""
    return (count - 1) / max(length, 1.0)


def _usual_rate(evidence: Evidence) -> float:
    polls = evidence.polls_in(CoursePart.QUIET)
    return _rate(len(polls), polls[-1].since - polls[0].since) if polls else 0.0


RULES: Sequence[LintRule] = (
    LintRule(
        id="never-asks",
        severity=Severity.ERROR,
        hurts="A program that does not ask is told nothing.",
        remedy="Let it ask $FOREWARN_ENDPOINT, or 169.254.169.254 in a network where"
        " that leads here (--metadata), for /metadata/scheduledevents.",
        facts=("1.1a", "1.1b"),
        check=_never_asks,
    ),
    LintRule(
        id="no-header",
        severity=Severity.ERROR,
        hurts="Requests without the header are refused with 400.",
        remedy="Send `Metadata: true` with each GET and each POST.",
        facts=("2.1a", "2.2a"),
        check=_no_header,
    ),
    LintRule(
        id="no-api-version",
        severity=Severity.ERROR,
        hurts="Requests without a version of scheduled events are refused with 400;"
        " most versions of /metadata/instance are none.",
        remedy=f"Ask with api-version={NEWEST.name}.",
        facts=("3.0a", "3.1a", "3.1b"),
        check=_no_version,
    ),
    LintRule(
        id="old-api-version",
        severity=Severity.WARNING,
        hurts="An older version does not show types of events that came later.",
        remedy=f"Ask with api-version={NEWEST.name}.",
        facts=("3.0d", "3.0e", "3.4a", "3.4b"),
        check=_old_version,
    ),
    LintRule(
        id="through-a-proxy",
        severity=Severity.ERROR,
        hurts="The service refuses whatever a proxy has passed on.",
        remedy="Ask without a proxy, whatever http_proxy says.",
        facts=("1.8a",),
        check=_proxy,
    ),
    LintRule(
        id="rare-polls",
        severity=Severity.ERROR,
        hurts="A Preempt is announced 30 seconds ahead: whoever asks rarely has little"
        " of them left, or sees nothing.",
        remedy="Ask once a second.",
        facts=("6.1a", "6.16a", "8.3a"),
        check=_rare_polls,
    ),
    LintRule(
        id="frequent-polls",
        severity=Severity.WARNING,
        hurts="A VM may send five requests a second, all of its programs together; the"
        " rest is refused with 429.",
        remedy="Ask once a second.",
        facts=("8.3a", "8.3b"),
        check=_frequent_polls,
    ),
    LintRule(
        id="hammers",
        severity=Severity.ERROR,
        hurts="Who asks on and on while refused stays refused, and so do the other"
        " programs of the VM.",
        remedy="After a 429 wait a second or longer before the next request.",
        facts=("8.0h", "8.3b"),
        check=_hammers,
    ),
    LintRule(
        id="ignores-retry-after",
        severity=Severity.ADVICE,
        hurts="A service that says when to ask again refuses what comes sooner; Azure"
        " is not known to say it, forewarn does.",
        remedy="Wait as long as Retry-After says, if it is there.",
        facts=("8.0h", "8.3c"),
        check=_retry_after,
    ),
)
