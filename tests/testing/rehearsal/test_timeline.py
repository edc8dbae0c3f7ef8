"""Timeline of a rehearsal: chronological, and short enough for a terminal."""

from datetime import datetime, timedelta

import pytest
from tests.core.support.builders import MINUTE, NOON, a_maintenance, an_event
from tests.testing.support.request_records import a_request_record

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Via
from forewarn.core.outages import Outage
from forewarn.core.queries.phrases import format_offset
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.rehearsal.observer import Mark
from forewarn.testing.rehearsal.timeline import TITLE, TimelineData, timeline

ID = "5F3A2B1C-0000-4000-8000-000000000000"


def an_announcement() -> f.Announced:
    maintenance = a_maintenance("m0", events=[an_event(ID, resources=("web-0",))])
    return f.Announced(at=NOON, by="rehearsal", maintenance="m0", announced=maintenance)


def an_approval(by: str = "web-0") -> f.Approved:
    return f.Approved(
        at=NOON, by=by, via=Via.METADATA, maintenance="m0", event=ID, group="group0"
    )


def render(
    *facts: tuple[float, f.Fact],
    requests: tuple[RequestRecord, ...] = (a_request_record(0.5),),
    marks: tuple[tuple[datetime, Mark], ...] = (),
    unanswered: tuple[tuple[str | None, float], ...] = (),
    programs: tuple[tuple[datetime, float, str], ...] = (),
    now: timedelta = timedelta(),
) -> list[str]:
    """Render facts with the times of their commits; the rehearsal ends at 10.0."""
    entries = [
        (at, f.JournalEntry(position=position, fact=fact))
        for position, (at, fact) in enumerate(facts, 1)
    ]
    course = TimelineData(
        entries=entries,
        requests=[(NOON, request) for request in requests],
        marks=marks,
        programs=programs,
        unanswered=unanswered,
        at=10.0,
        time=NOON + now,
    )
    title, *lines = timeline(course).splitlines()
    assert title == TITLE
    return [line.strip() for line in lines]


def test_everything_is_shown_in_real_order_with_both_times() -> None:
    done = Mark(name="hook done", at=3.0)
    assert render(
        (1.0, an_announcement()),
        (4.0, an_approval()),
        (5.0, f.Started(at=NOON + 15 * MINUTE, maintenance="m0")),
        (6.0, f.Completed(at=NOON + 16 * MINUTE, maintenance="m0")),
        requests=(a_request_record(2.0),),
        marks=((NOON, done),),
        programs=((NOON, 1.75, "handler.py started"),),
        now=20 * MINUTE,
    ) == [
        "+0:00   0.00 s  announced Reboot 5F3A2B1C of web-0, not before +15:00",
        "+0:00   0.75 s  handler.py started",
        "+0:00   1.00 s  web-0 polled, api-version 2020-07-01",
        "+0:00   2.00 s  mark: hook done",
        "+0:00   3.00 s  web-0 approved Reboot 5F3A2B1C",
        "+15:00  4.00 s  Reboot 5F3A2B1C started",
        "+16:00  5.00 s  Reboot 5F3A2B1C completed",
        "+20:00  9.00 s  now",
    ]


def test_consecutive_polls_are_one_line() -> None:
    polls = [a_request_record(2 + 0.1 * number) for number in range(37)]
    others = [a_request_record(2 + 0.1 * number, vm="web-1") for number in range(20)]
    lines = render((1.0, an_announcement()), requests=(*polls, *others))
    assert lines[1:-1] == [
        "+0:00  1.00 s  web-0 polled 37 times in 3.6 s, api-version 2020-07-01",
        "+0:00  1.00 s  web-1 polled 20 times in 1.9 s, api-version 2020-07-01",
    ]


def test_sighting_follows_the_request_that_showed_it() -> None:
    sight = f.Sight(event=ID, vm="web-0", at=NOON)
    lines = render(
        (1.0, an_announcement()),
        (4.0, an_approval()),
        (9.0, f.Seen(at=NOON, sights=(sight,))),  # committed last
        requests=(a_request_record(0.5), a_request_record(2.0), a_request_record(3.0)),
    )
    assert [line.partition("  ")[2] for line in lines] == [
        "0.00 s  web-0 polled, api-version 2020-07-01",
        "0.50 s  announced Reboot 5F3A2B1C of web-0, not before +15:00",
        "1.50 s  web-0 polled, api-version 2020-07-01",
        "1.50 s  web-0 saw Reboot 5F3A2B1C",
        "2.50 s  web-0 polled, api-version 2020-07-01",
        "3.50 s  web-0 approved Reboot 5F3A2B1C",
        "9.50 s  now",
    ]


@pytest.mark.parametrize(
    ("request_", "line"),
    [
        (
            a_request_record(2.0, is_marked=False, status=400),
            "web-0 polled, status 400, without Metadata: true, api-versio...",
        ),
        (
            a_request_record(2.0, version="", status=400),
            "web-0 polled, status 400, no api-version",
        ),
        (
            a_request_record(2.0, fault="reset", status=0),
            "web-0 polled, cut off, fault reset, api-version 2020-07-01",
        ),
        (
            a_request_record(2.0, vm=None, status=404),
            "unknown VM polled, status 404, api-version 2020-07-01",
        ),
        (
            a_request_record(2.0, path="/metadata/instance", version="2021-02-01"),
            "web-0 sent GET /metadata/instance, api-version 2021-02-01",
        ),
        (
            a_request_record(
                2.0, vm="web-1", method="POST", status=400, events=("E9",)
            ),
            "web-1 tried to approve E9, status 400, api-version 2020-07-01",
        ),
    ],
    ids=["header", "version", "fault", "unknown VM", "instance", "rejected"],
)
def test_unusual_parts_of_a_request_are_shown(
    request_: RequestRecord, line: str
) -> None:
    assert render((1.0, an_announcement()), requests=(request_,))[1] == (
        f"+0:00  1.00 s  {line}"
    )


def test_approval_and_its_request_are_one_line() -> None:
    post = a_request_record(3.9, method="POST", events=(ID.lower(),))
    lines = render((1.0, an_announcement()), (4.0, an_approval()), requests=(post,))
    assert lines[1:-1] == ["+0:00  3.00 s  web-0 approved Reboot 5F3A2B1C"]
    again = a_request_record(5.0, vm="web-1", method="POST", events=(ID,))
    lines = render((1.0, an_announcement()), (4.0, an_approval()), requests=(again,))
    assert "web-1 tried to approve 5F3A2B1C" in lines[2]


@pytest.mark.parametrize(
    "post",
    [
        a_request_record(5.0, method="POST", events=(ID, "E9")),
        a_request_record(5.0, method="POST", events=(ID,), status=503, fault="503"),
    ],
)
def test_request_not_fully_covered_by_the_journal_is_shown(post: RequestRecord) -> None:
    lines = render((1.0, an_announcement()), (4.0, an_approval()), requests=(post,))
    assert "web-0 tried to approve 5F3A2B1C" in lines[2]


def test_pending_long_poll_is_shown() -> None:
    held = (("web-0", 7.5),)
    lines = render((1.0, an_announcement()), requests=(), unanswered=held)
    assert lines[1] == "+0:00  6.50 s  web-0 sent a request, no response yet"
    assert len(lines) == 3


@pytest.mark.parametrize(
    ("fact", "line"),
    [
        (
            f.Canceled(at=NOON, by="rehearsal", maintenance="m0", reason="not today"),
            "Reboot 5F3A2B1C canceled by rehearsal (not today)",
        ),
        (
            f.WorkFailed(at=NOON, maintenance="m0", vms=("web-0",)),
            "Reboot 5F3A2B1C stuck: the driver failed on web-0",
        ),
        (
            f.OutageEnded(at=NOON, outage=Outage(since=NOON, until=NOON + 20 * MINUTE)),
            "the service is back after 20 min of downtime (since 2026-01-...",
        ),
    ],
    ids=["canceled", "stuck", "outage"],
)
def test_outcome_is_shown_briefly(fact: f.Fact, line: str) -> None:
    assert render((1.0, an_announcement()), (2.0, fact))[-2] == f"+0:00  1.50 s  {line}"


def test_long_timeline_keeps_its_beginning_and_its_end() -> None:
    marks = [(NOON, Mark(name=f"step {n}", at=2.0 + n / 100)) for n in range(100)]
    lines = render((1.0, an_announcement()), marks=(*marks,))
    assert len(lines) == 24
    assert lines[1].endswith("announced Reboot 5F3A2B1C of web-0, not before +15:00")
    assert lines[6:9] == [
        "+0:00  1.54 s  mark: step 4",
        "... 80 lines omitted ...",
        "+0:00  2.35 s  mark: step 85",
    ]
    assert lines[-1] == "+0:00  9.50 s  now"


def test_no_line_is_longer_than_a_terminal() -> None:
    mark = (NOON, Mark(name="x" * 200, at=2.0))
    assert max(map(len, render((1.0, an_announcement()), marks=(mark,)))) <= 80


@pytest.mark.parametrize(
    ("seconds", "written"),
    [(0, "+0:00"), (905, "+15:05"), (3_600, "+1:00:00"), (180_000, "+2d 2:00:00")],
)
def test_offset_is_as_short_as_possible(seconds: int, written: str) -> None:
    assert format_offset(timedelta(seconds=seconds)) == written


def test_mark_stays_on_one_line() -> None:
    mark = Mark(name="two\nlines, \x1b[31mred", at=2.0)
    lines = render((1.0, an_announcement()), marks=((NOON, mark),))
    assert "+0:00  1.50 s  mark: two lines,  [31mred" in lines
