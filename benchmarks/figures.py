"""Figures of benchmarks: percentiles of durations, and growth rates."""

import statistics
from collections.abc import Sequence


def line(what: str, text: str) -> str:
    """Format one line of a table."""
    return f"{what:<28} {text}\n"


def share(seconds: Sequence[float], part: float) -> float:
    """Return the percentile `part` (0 to 1), in seconds."""
    in_order = sorted(seconds)
    return in_order[min(int(len(in_order) * part), len(in_order) - 1)]


def times(seconds: Sequence[float]) -> str:
    """Format median, 99th percentile and maximum, in milliseconds."""
    if not seconds:
        return "none"
    half, most, longest = share(seconds, 0.5), share(seconds, 0.99), max(seconds)
    return (
        f"p50 {half * 1000:7.2f} ms   p99 {most * 1000:7.2f} ms"
        f"   max {longest * 1000:7.2f} ms   n {len(seconds):,}"
    )


def slope(samples: Sequence[tuple[float, float]]) -> float:
    """Return the slope of the linear regression of (x, y) samples."""
    if len(samples) < 2:
        return 0.0
    xs, ys = [x for x, _ in samples], [y for _, y in samples]
    return statistics.linear_regression(xs, ys).slope
