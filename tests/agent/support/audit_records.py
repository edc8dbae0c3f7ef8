"""Sample audit entries, as an agent writes them."""

from collections.abc import Mapping
from datetime import timedelta

from tests.agent.support.stored_states import ID, NOON, shown

from forewarn.agent.storage.codec import rfc3339

Line = Mapping[str, object]


def a_line(
    what: str, after: float = 0, /, event: str | None = ID, **said: object
) -> Line:
    """Build an entry about `what` happened `after` seconds past noon."""
    at = rfc3339(NOON + timedelta(seconds=after))
    return {"at": at, "event": event, "what": what, **said}


def a_sighting(event: str = ID, **more: object) -> Line:
    """Build the entry for a first sighting with 15 minutes of notice."""
    return a_line(
        "seen",
        event=event,
        event_as_shown=shown(
            EventId=event,
            EventSource="Platform",
            Description="Host server is undergoing maintenance.",
            DurationInSeconds=9,
        ),
        incarnation=2,
        notice_seconds=900.0,
        mine=True,
        leader=True,
        **more,
    )


def a_hook(
    after: float = 123, /, *, step: str = "prepare", hook: str = "drain", **more: object
) -> Line:
    """Build the entry for the end of a hook, a success unless `more` differs."""
    fields = {
        "step": step,
        "hook": hook,
        "times": 1,
        "tries": 1,
        "outcome": "done",
        "code": 0,
        "seconds": 122.5,
        "output": "",
        "reason": "",
    }
    return {**a_line("hook-ended", after), **fields, **more}


DECIDED = a_line(
    "decided",
    rule="reboots",
    why=["it is a Reboot", "it lists this VM"],
    approve="after-hooks",
    hooks={"prepare": ["drain", "flush"], "recover": ["undrain"]},
)
APPROVED = a_line(
    "approved",
    123,
    answer="200",
    notice_seconds_given=900.0,
    notice_seconds_used=123.0,
)
STARTED = a_line(
    "started", 130, early=True, approved_elsewhere=False, without_notice=False
)
GONE = a_line(
    "gone",
    190,
    after_start=True,
    canceled=False,
    impact={"boots": 1, "seconds": 48.0, "total": 48.0},
    announced_seconds=9,
)
OVER = a_line("over", 195, outcome="it took place")

#: A reboot without problems.
A_REBOOT: tuple[Line, ...] = (
    a_sighting(),
    DECIDED,
    a_line("hook-began", step="prepare", hook="drain", times=1),
    a_hook(output="evicting web\nnode drained\n"),
    APPROVED,
    STARTED,
    a_line("ended", 131, event=None),
    a_line("began", 179, event=None, version="0.1.0", dry_run=False),
    GONE,
    a_line("hook-began", 190, step="recover", hook="undrain", times=1),
    a_hook(195, step="recover", hook="undrain", seconds=5.0),
    OVER,
)

#: A reboot that was canceled after its hook had failed.
CALLED_OFF: tuple[Line, ...] = (
    a_sighting("E2"),
    a_line("decided", event="E2", rule="reboots", why=[], approve="after-hooks"),
    {
        **a_hook(outcome="failed", code=3, reason="exit code 3", tries=2),
        "event": "E2",
    },
    a_line("not-approved", 123, event="E2", reason="drain: exit code 3"),
    a_line("gone", 600, event="E2", after_start=False, canceled=True, impact={}),
)
