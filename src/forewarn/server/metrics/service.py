"""Metrics of the service itself: its store, journal readers, clock and fleet."""

import platform
from collections.abc import Sequence
from math import isfinite

from forewarn import __version__
from forewarn.clocks import ManualClock
from forewarn.engine.notifying import Standing
from forewarn.server.metrics.kinds import Count, Gauge, Metric, Values, one
from forewarn.server.metrics.sources import Look


def _position(look: Look) -> Values:
    return one(None if look.journal is None else look.journal.position)


def _behind(look: Look) -> Values:
    lags = {} if look.journal is None else look.journal.lags
    return {(name,): lag.positions for name, lag in lags.items()}


def _lag(look: Look) -> Values:
    lags = {} if look.journal is None else look.journal.lags
    return {(name,): lag.seconds for name, lag in lags.items()}


def _heartbeat(look: Look) -> Values:
    since = look.sources.since_heartbeat()
    return one(since if isfinite(since) else None)


def _rate(look: Look) -> Values:
    clock = look.sources.clock
    return one(0 if isinstance(clock, ManualClock) else clock.rate)


def _unseen(look: Look) -> Values:
    return {(str(limit),): n for limit, n in look.presence.unseen.items()}


def _targets(look: Look) -> Sequence[Standing]:
    return () if look.journal is None else look.journal.targets


#: In the order of the output.
SERVICE: Sequence[Metric] = (
    Gauge(
        "forewarn_build_info",
        ("version", "python"),
        "What is running; always 1.",
        lambda look: {(__version__, platform.python_version()): 1},
    ),
    Gauge(
        "forewarn_store_up",
        (),
        "Whether the store answered when it was last asked, for this very scrape.",
        lambda look: one(0 if look.journal is None else 1),
    ),
    Gauge(
        "forewarn_store_size_bytes",
        (),
        "Size of the SQLite file with its log; absent for any other store.",
        lambda look: one(look.sources.store_bytes()),
    ),
    Gauge(
        "forewarn_journal_position",
        (),
        "How many facts the journal has; absent while the store is away.",
        _position,
    ),
    Gauge(
        "forewarn_reader_behind_facts",
        ("reader",),
        "Facts that a reader of the journal has not read; absent while the store is"
        " away.",
        _behind,
    ),
    Gauge(
        "forewarn_reader_lag_seconds",
        ("reader",),
        "Real time since the oldest fact that a reader has not read, 0 if there is"
        " none; absent while the store is away.",
        _lag,
    ),
    Gauge(
        "forewarn_clock_rate",
        (),
        "How fast the service's clock runs; 0: it is moved by hand.",
        _rate,
    ),
    Gauge(
        "forewarn_clock_timestamp_seconds",
        (),
        "The time by the service's clock, since 1970.",
        lambda look: one(look.now.timestamp()),
    ),
    Gauge(
        "forewarn_heartbeat_age_seconds",
        (),
        "Real time since the heartbeat was last written; it is written every 10 s.",
        _heartbeat,
    ),
    Count(
        "forewarn_outages",
        (),
        "Times that the service was away for more than a minute, as far as it has"
        " noticed since the start.",
        lambda look: look.numbers.outages.all(),
    ),
    Count(
        "forewarn_outage_seconds",
        (),
        "How long it was away in these outages.",
        lambda look: look.numbers.outage_seconds.all(),
    ),
    # --- the fleet
    Gauge(
        "forewarn_vms",
        (),
        "VMs of the fleet.",
        lambda look: one(look.presence.vms),
    ),
    Gauge(
        "forewarn_vms_unseen",
        ("seconds",),
        "VMs that have asked for events since the start, but last more than so many"
        " seconds ago, by the service's clock.",
        _unseen,
    ),
    Gauge(
        "forewarn_vms_never_seen",
        (),
        "VMs that have not asked for events since the start.",
        lambda look: one(look.presence.never),
    ),
    Gauge(
        "forewarn_groups_listening",
        (),
        "Groups that have asked for events in the last 24 h, or always listen.",
        lambda look: one(look.presence.listening),
    ),
    Gauge(
        "forewarn_groups_silent",
        (),
        "Groups that have not asked for events in the last 24 h.",
        lambda look: one(look.presence.silent),
    ),
    Gauge(
        "forewarn_notifier_behind_facts",
        ("target",),
        "Facts of the journal that a notifier has not read, also those that it is not"
        " to tell; absent while the store is away.",
        lambda look: {(t.name,): t.behind for t in _targets(look)},
    ),
    Gauge(
        "forewarn_notifier_lag_seconds",
        ("target",),
        "Time since the oldest that it is still to tell; 0 if there is none.",
        lambda look: {(t.name,): t.lag_seconds for t in _targets(look)},
    ),
    Gauge(
        "forewarn_notifier_failures",
        ("target",),
        "Attempts of a notifier that failed, one after the other; 0 when one succeeds.",
        lambda look: {(t.name,): t.failures for t in _targets(look)},
    ),
)
