"""Performance of the portal in a browser: loading time, long tasks and layout shift.

Run by `scripts/bench portal`. A real service serves a large fleet, and Chromium opens
each page with an empty cache. Then one request announces maintenance of one VM in each
group, and the page shows the changes. Figures are medians of all rounds. During a long
task, a page does not respond to its user. Browsers report tasks of 50 ms or more.
"""

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.figures import line
from benchmarks.program import TOKEN, serving
from playwright.sync_api import Browser, BrowserContext, Page
from tests.browser.chromium import MISSING, a_chromium, executable
from tests.browser.portal_user import start_session, wait_until_drawn

_PAGES = ("now", "timeline", "fleet")
_UPDATE_DOMAINS = 5
_IDS = 100  # at most, in one request of a page

#: Limits on two cores: milliseconds, and layout shift.
_BARS: Mapping[str, float] = {"painted": 1000, "burst_task": 200, "burst_shift": 0.1}

#: Observes long tasks and layout shifts from the start; `begin` resets them.
_WATCH = """
globalThis.watched = { task: 0, shift: 0, begin() { this.task = this.shift = 0; } };
new PerformanceObserver((list) => {
  for (const each of list.getEntries())
    watched.task = Math.max(watched.task, each.duration);
}).observe({ type: "longtask", buffered: true });
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) watched.shift += each.value;
}).observe({ type: "layout-shift", buffered: true });
"""

#: Waits until a page has sent no request for two seconds.
_QUIET = """() => new Promise((quiet) => {
  let timer = setTimeout(quiet, 2000);
  new PerformanceObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(quiet, 2000);
  }).observe({ type: "resource" });
})"""

_MEASURED = """(mark) => ({
  painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  drawn: performance.getEntriesByName(mark)[0].startTime,
  task: watched.task,
  shift: watched.shift,
})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSize:
    """Size of the fleet."""

    vms: int
    groups: int
    hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Figures of one page: milliseconds, and layout shift."""

    painted: float
    drawn: float
    load_task: float
    load_shift: float
    burst_task: float
    burst_shift: float


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="scripts/bench portal", description=__doc__)
    parser.add_argument("--vms", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", nargs="+", choices=_PAGES, default=_PAGES)
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    path = executable()
    if path is None:
        sys.exit(MISSING)
    size = FleetSize(vms=arguments.vms, groups=arguments.groups, hosts=arguments.hosts)
    with a_chromium(path) as chromium:
        results = {
            name: _median(
                [_round(chromium.browser, name, size) for _ in range(arguments.rounds)]
            )
            for name in arguments.pages
        }
    sys.stdout.write(_as_json(results) if arguments.json else _as_table(results))
    if any(_missed_limits(figures) for figures in results.values()):
        sys.exit(1)


# --- one round ---------------------------------------------------------------


def _round(browser: Browser, name: str, size: FleetSize) -> Figures:
    """Measure a page of a new service, before and during a burst of changes."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Path(folder) / "fleet.toml"
        fleet.write_text(_fleet(size))
        with serving(Path(folder), fleet) as running:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_init_script(_WATCH)
            try:
                return _measure_page(context, f"http://{running.control}", name, size)
            finally:
                context.close()


def _measure_page(
    context: BrowserContext, control: str, name: str, size: FleetSize
) -> Figures:
    page = context.new_page()
    start_session(page, control, TOKEN)
    page.goto(f"{control}/portal/#/{name}")
    wait_until_drawn(page, name)
    page.evaluate(_QUIET)
    loaded = page.evaluate(_MEASURED, f"forewarn:{name}")
    page.evaluate("() => watched.begin()")
    _announce(context, control, size)
    page.evaluate(_QUIET)
    _expect_all(page, size)
    burst = page.evaluate(_MEASURED, f"forewarn:{name}")
    return Figures(
        painted=loaded["painted"],
        drawn=loaded["drawn"],
        load_task=loaded["task"],
        load_shift=loaded["shift"],
        burst_task=burst["task"],
        burst_shift=burst["shift"],
    )


def _announce(context: BrowserContext, control: str, size: FleetSize) -> None:
    """Announce maintenance in each group, which adds a journal entry or more each."""
    vms = [f"g{number}-0" for number in range(size.groups)]
    response = context.request.post(
        f"{control}/v1/maintenances",
        data={"type": "Freeze", "vms": vms},
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=60_000,
    )
    if response.status != 201 or len(response.json()["maintenances"]) != size.groups:
        raise RuntimeError(
            f"announcing returned {response.status}: {response.text()[:500]}"
        )


def _expect_all(page: Page, size: FleetSize) -> None:
    """Check that the page has requested everything that has changed."""
    requests = page.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter((each) => each.name.includes("/v1/overview?id=")).length"""
    )
    if requests * _IDS < size.groups:
        raise RuntimeError(f"the page sent only {requests} requests for changes")


# --- the fleet ---------------------------------------------------------------


def _fleet(size: FleetSize) -> str:
    """Write a fleet file with groups of one size, spread over all hosts."""
    tables = [f'[[hosts]]\nname = "host-{host}"\n' for host in range(size.hosts)]
    group_size = size.vms // size.groups
    for group in range(size.groups):
        tables.append(f'[[groups]]\nname = "g{group}"\nkind = "availability-set"\n')
        tables += [
            f'[[vms]]\nname = "g{group}-{number}"\ngroup = "g{group}"\n'
            f'host = "host-{(group * group_size + number) % size.hosts}"\n'
            f"update_domain = {number % _UPDATE_DOMAINS}\n"
            for number in range(group_size)
        ]
    return "".join(tables)


# --- results -----------------------------------------------------------------


def _median(all_: Sequence[Figures]) -> Figures:
    return Figures(
        **{
            field.name: statistics.median(getattr(page, field.name) for page in all_)
            for field in fields(Figures)
        }
    )


def _missed_limits(figures: Figures) -> Sequence[str]:
    """Describe the limits that were exceeded."""
    return [
        f"{name} {getattr(figures, name):.2f} exceeds {most:g}"
        for name, most in _BARS.items()
        if getattr(figures, name) > most
    ]


def _as_json(measured: Mapping[str, Figures]) -> str:
    return (
        json.dumps({name: asdict(figures) for name, figures in measured.items()}) + "\n"
    )


def _as_table(measured: Mapping[str, Figures]) -> str:
    lines: list[str] = []
    for name, page in measured.items():
        lines.append(
            line(f"{name}: first paint", f"{page.painted:.0f} ms")
            + line(f"{name}: data drawn", f"{page.drawn:.0f} ms")
            + line(f"{name}: longest task", _task(page.load_task))
            + line(f"{name}: longest task, burst", _task(page.burst_task))
            + line(f"{name}: layout shift", f"{page.load_shift:.3f}")
            + line(f"{name}: layout shift, burst", f"{page.burst_shift:.3f}")
        )
        lines += [f"{name}: {missed}\n" for missed in _missed_limits(page)]
    return "".join(lines)


def _task(length: float) -> str:
    return f"{length:.0f} ms" if length else "below 50 ms"


if __name__ == "__main__":
    main()
