"""What a hook is told: its environment and its input.

1. What the service has said is not trusted: in a variable there is no control
   character (each is a space), and never more than Linux takes. The input has all.
2. The input is the event as it was received, and nothing else.
3. Of the agent's own environment a hook gets all but what is the agent's alone.
"""

import json
import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from forewarn.agent.calls import Call
from forewarn.agent.plan import Hook
from forewarn.protocol.codec import iso8601, plain_event
from forewarn.protocol.types import ScheduledEvent
from forewarn.protocol.versions import NEWEST

#: What is in the agent's environment for the agent alone.
_NOT_HANDED_ON = frozenset(
    (
        "FOREWARN_TOKEN",
        "FOREWARN_AGAIN",
        "NOTIFY_SOCKET",
        "WATCHDOG_PID",
        "WATCHDOG_USEC",
        "LISTEN_PID",
        "LISTEN_FDS",
        "LISTEN_FDNAMES",
    )
)
_LONGEST = 32_000  # bytes; Linux takes 128 kB in one variable, often 2 MB in all
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029), " ")


def stdin(call: Call) -> bytes:
    """Write the event as the service shows it, on one line."""
    try:
        text = json.dumps(dict(_shown(call.event)))
    except RecursionError:  # it came through, but just so
        text = json.dumps(_made(call.event))
    return text.encode() + b"\n"


def environment(
    call: Call, hook: Hook, *, own: Mapping[str, str], tried: int
) -> dict[str, str]:
    """Add what `hook` is told in its try `tried`, from 1, to the agent's `own`."""
    handed_on = {name: own[name] for name in own if name not in _NOT_HANDED_ON}
    told = _event(call.event) | _call(call, hook, tried) | _time(call, hook)
    if call.times > 1:
        told["FOREWARN_AGAIN"] = "1"
    return handed_on | {name: _plain(value) for name, value in told.items()}


# --- what is said ------------------------------------------------------------


def _event(event: ScheduledEvent) -> dict[str, str]:
    shown = _shown(event)
    resources = _listed(event.resources)
    duration = "" if event.duration is None else f"{event.duration}"
    return {
        "FOREWARN_EVENT_ID": event.id,
        "FOREWARN_EVENT_TYPE": event.type,
        "FOREWARN_EVENT_STATUS": event.status,
        "FOREWARN_EVENT_SOURCE": event.source or "",
        "FOREWARN_EVENT_DESCRIPTION": event.description,
        "FOREWARN_EVENT_DURATION": duration,
        "FOREWARN_NOT_BEFORE": _moment(event.not_before),
        "FOREWARN_RESOURCES": resources,
        # as scripts of another handler know them
        "EVENT_ID": event.id,
        "EVENT_TYPE": event.type,
        "EVENT_STATUS": event.status,
        "EVENT_SOURCE": event.source or "",
        "EVENT_NOTBEFORE": _text(shown.get("NotBefore")),
        "EVENT_RESOURCES": resources,
        "EVENT_RESOURCETYPE": _text(shown.get("ResourceType")),
    }


def _call(call: Call, hook: Hook, tried: int) -> dict[str, str]:
    return {
        "FOREWARN_STEP": call.step,
        "FOREWARN_NAME": call.name,
        "FOREWARN_RULE": call.rule,
        "FOREWARN_HOOK": hook.name,
        "FOREWARN_TRY": f"{tried}",
        "FOREWARN_RUN": call.token,
        "FOREWARN_ENDPOINT": call.endpoint,
    }


def _time(call: Call, hook: Hook) -> dict[str, str]:
    """Tell the time left, which is the hook's own if that is shorter."""
    given, wait = call.seconds_left(), call.wait_left()
    left, real, deadline = given, wait, call.deadline
    if hook.timeout is not None:
        own = call.real(hook.timeout)
        left = hook.timeout if given is None else min(given, hook.timeout)
        real = own if wait is None else min(wait, own)
    if deadline is not None and given is not None and left is not None:
        deadline = _earlier(deadline, given - left)
    return {
        "FOREWARN_SECONDS_LEFT": "" if left is None else f"{math.floor(max(left, 0))}",
        "FOREWARN_REAL_SECONDS_LEFT": "" if real is None else f"{max(real, 0):.3f}",
        "FOREWARN_DEADLINE": _moment(deadline),
    }


def _shown(event: ScheduledEvent) -> Mapping[str, object]:
    """Show the event as received, or as the newest version has it if that is lost."""
    return event.raw or _made(event)


def _made(event: ScheduledEvent) -> Mapping[str, object]:
    return plain_event(event, NEWEST, NEWEST.date_form)


# --- how it is said ----------------------------------------------------------


def _listed(names: tuple[str, ...]) -> str:
    """Put names beside each other; a name is never cut, for it would be another's."""
    kept: list[str] = []
    length = 0
    for name in names:
        length += len(name.encode(errors="replace")) + 1
        if length > _LONGEST:
            break
        kept.append(name)
    return " ".join(kept)


def _plain(value: str) -> str:
    clean = value.translate(_CONTROLS).encode(errors="replace")
    return clean[:_LONGEST].decode(errors="ignore")


def _moment(moment: datetime | None) -> str:
    try:
        return "" if moment is None else iso8601(moment)
    except OverflowError:  # a year that is none in UTC
        return ""


def _earlier(moment: datetime, seconds: float) -> datetime:
    return moment - timedelta(seconds=seconds)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
