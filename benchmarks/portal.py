"""What the portal costs a browser: how soon a page is there, and whether it stutters.

Run by `scripts/bench portal`. A real service serves a large fleet; Chromium opens each
page with an empty cache. Then a maintenance of one VM of each group is announced, all
by one request, and the page takes in what follows. What is told is the median of all
rounds. A task is what keeps a page from answering its user; browsers tell of those that
take 50 ms or more.
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
from tests.browser.visitor import drawn, signed_in

_PAGES = ("now", "timeline", "fleet")
_UPDATE_DOMAINS = 5
_IDS = 100  # that one question of a page has at the most

#: What two cores must manage, in milliseconds; and how far things may jump.
_BARS: Mapping[str, float] = {"painted": 1000, "burst_task": 200, "burst_shift": 0.1}

#: Notes from the very beginning what a page does; `begin` begins anew.
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

#: Waits until a page has asked for nothing more for two seconds.
_QUIET = """() => new Promise((quiet) => {
  let timer = setTimeout(quiet, 2000);
  new PerformanceObserver(() => {
    clearTimeout(timer);
    timer = setTimeout(quiet, 2000);
  }).observe({ type: "resource" });
})"""

_TOLD = """(mark) => ({
  painted: performance.getEntriesByName("first-contentful-paint")[0].startTime,
  drawn: performance.getEntriesByName(mark)[0].startTime,
  task: watched.task,
  shift: watched.shift,
})"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large the fleet is."""

    vms: int
    groups: int
    hosts: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What one page did: milliseconds, and how far things jumped."""

    painted: float
    drawn: float
    load_task: float
    load_shift: float
    burst_task: float
    burst_shift: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="scripts/bench portal", description=__doc__)
    parser.add_argument("--vms", type=int, default=10_000)
    parser.add_argument("--groups", type=int, default=1_000)
    parser.add_argument("--hosts", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pages", nargs="+", choices=_PAGES, default=_PAGES)
    parser.add_argument("--json", action="store_true", help="the figures alone")
    asked = parser.parse_args()
    found = executable()
    if found is None:
        sys.exit(MISSING)
    size = Size(vms=asked.vms, groups=asked.groups, hosts=asked.hosts)
    with a_chromium(found) as chromium:
        told = {
            name: _median(
                [_round(chromium.browser, name, size) for _ in range(asked.rounds)]
            )
            for name in asked.pages
        }
    sys.stdout.write(_as_json(told) if asked.json else _as_table(told))
    if any(_missed(each) for each in told.values()):
        sys.exit(1)


# --- one round ---------------------------------------------------------------


def _round(browser: Browser, name: str, size: Size) -> Figures:
    """Open a page of a service that was just started, and let much happen."""
    with tempfile.TemporaryDirectory() as folder:
        fleet = Path(folder) / "fleet.toml"
        fleet.write_text(_fleet(size))
        with serving(Path(folder), fleet) as running:
            context = browser.new_context(viewport={"width": 1280, "height": 800})
            context.add_init_script(_WATCH)
            try:
                return _visit(context, f"http://{running.control}", name, size)
            finally:
                context.close()


def _visit(context: BrowserContext, control: str, name: str, size: Size) -> Figures:
    signed_in(context, control, TOKEN)
    page = context.new_page()
    page.goto(f"{control}/portal/#/{name}")
    drawn(page, name)
    page.evaluate(_QUIET)
    loaded = page.evaluate(_TOLD, f"forewarn:{name}")
    page.evaluate("() => watched.begin()")
    _announce(context, control, size)
    page.evaluate(_QUIET)
    _expect_all(page, size)
    burst = page.evaluate(_TOLD, f"forewarn:{name}")
    return Figures(
        painted=loaded["painted"],
        drawn=loaded["drawn"],
        load_task=loaded["task"],
        load_shift=loaded["shift"],
        burst_task=burst["task"],
        burst_shift=burst["shift"],
    )


def _announce(context: BrowserContext, control: str, size: Size) -> None:
    """Announce a maintenance in each group, and so at least as many facts."""
    vms = [f"g{number}-0" for number in range(size.groups)]
    answer = context.request.post(
        f"{control}/v1/maintenances",
        data={"type": "Freeze", "vms": vms},
        headers={"Authorization": f"Bearer {TOKEN}"},
        timeout=60_000,
    )
    if answer.status != 201 or len(answer.json()["maintenances"]) != size.groups:
        raise RuntimeError(f"answered {answer.status} {answer.text()[:500]}")


def _expect_all(page: Page, size: Size) -> None:
    """Make sure that the page has asked for what has changed."""
    asked = page.evaluate(
        """() => performance.getEntriesByType("resource")
          .filter((each) => each.name.includes("/v1/overview?id=")).length"""
    )
    if asked * _IDS < size.groups:
        raise RuntimeError(f"the page has asked {asked} times for what has changed")


# --- the fleet ---------------------------------------------------------------


def _fleet(size: Size) -> str:
    """Write groups of one size, spread over all hosts."""
    tables = [f'[[hosts]]\nname = "host-{each}"\n' for each in range(size.hosts)]
    each_has = size.vms // size.groups
    for group in range(size.groups):
        tables.append(f'[[groups]]\nname = "g{group}"\nkind = "availability-set"\n')
        tables += [
            f'[[vms]]\nname = "g{group}-{number}"\ngroup = "g{group}"\n'
            f'host = "host-{(group * each_has + number) % size.hosts}"\n'
            f"update_domain = {number % _UPDATE_DOMAINS}\n"
            for number in range(each_has)
        ]
    return "".join(tables)


# --- what is told ------------------------------------------------------------


def _median(all_: Sequence[Figures]) -> Figures:
    return Figures(
        **{
            each.name: statistics.median(getattr(one, each.name) for one in all_)
            for each in fields(Figures)
        }
    )


def _missed(figures: Figures) -> Sequence[str]:
    """Say which bars it has missed."""
    return [
        f"{name} {getattr(figures, name):.2f} is more than {most:g}"
        for name, most in _BARS.items()
        if getattr(figures, name) > most
    ]


def _as_json(told: Mapping[str, Figures]) -> str:
    return json.dumps({name: asdict(each) for name, each in told.items()}) + "\n"


def _as_table(told: Mapping[str, Figures]) -> str:
    lines: list[str] = []
    for name, each in told.items():
        lines.append(
            line(f"{name}: first paint", f"{each.painted:.0f} ms")
            + line(f"{name}: its data drawn", f"{each.drawn:.0f} ms")
            + line(f"{name}: longest task", _task(each.load_task))
            + line(f"{name}: the same, in a burst", _task(each.burst_task))
            + line(f"{name}: layout shift", f"{each.load_shift:.3f}")
            + line(f"{name}: the same, in a burst", f"{each.burst_shift:.3f}")
        )
        lines += [f"{name}: {missed}\n" for missed in _missed(each)]
    return "".join(lines)


def _task(length: float) -> str:
    return f"{length:.0f} ms" if length else "below 50 ms"


if __name__ == "__main__":
    main()
