"""Gathers what a rehearsal has seen, and tells it."""

from collections.abc import Sequence

from forewarn.core.facts import Entry
from forewarn.engine.engine import Engine
from forewarn.testing.timeline import Course, timeline
from forewarn.testing.watching import Watching

_PAGE = 1000


def journal_of(engine: Engine) -> Sequence[Entry]:
    """Read every fact so far."""
    engine.write_notes()
    found: list[Entry] = []
    while page := engine.store.facts(found[-1].position if found else 0, _PAGE):
        found += page
    return found


def tell(engine: Engine, watching: Watching) -> str:
    """Tell what happened so far, as a timeline."""
    now = engine.clock.now()
    at = watching.now()
    return timeline(
        Course(
            entries=[
                (watching.committed_at(each.position), each)
                for each in journal_of(engine)
            ],
            requests=[
                (watching.time_at(each.at) or now, each) for each in watching.asked
            ],
            unanswered=watching.unanswered,
            marks=[(watching.time_at(each.at) or now, each) for each in watching.marks],
            at=at,
            time=now,
        )
    )
