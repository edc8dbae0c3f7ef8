"""Journal and timeline of a rehearsal."""

from collections.abc import Sequence

from forewarn.core.facts import Entry
from forewarn.engine.engine import Engine
from forewarn.testing.timeline import Course, timeline
from forewarn.testing.watching import Watching

_PAGE = 1000


def journal_of(engine: Engine) -> Sequence[Entry]:
    """Return all journal entries so far."""
    engine.write_notes()
    entries: list[Entry] = []
    while page := engine.store.facts(entries[-1].position if entries else 0, _PAGE):
        entries += page
    return entries


def tell(engine: Engine, watching: Watching) -> str:
    """Format what has happened so far as a timeline."""
    now = engine.clock.now()
    at = watching.now()
    return timeline(
        Course(
            entries=[
                (watching.committed_at(item.position), item)
                for item in journal_of(engine)
            ],
            requests=[
                (watching.time_at(item.at) or now, item) for item in watching.asked
            ],
            unanswered=watching.unanswered,
            marks=[(watching.time_at(item.at) or now, item) for item in watching.marks],
            at=at,
            time=now,
        )
    )
