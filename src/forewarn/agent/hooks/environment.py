"""Environment variables and standard input of hooks.

1. Data from the service is not trusted. In variables, control characters are replaced
   with spaces, and values stay below Linux's length limit. Standard input is complete.
2. An ID with characters other than letters, digits and dashes is replaced with its
   hash, because scripts use it in file names. Standard input contains the original ID.
3. Standard input contains only the event as received.
4. A hook inherits the agent's environment, except variables that are only for the
   agent.
"""

import json
import math
from collections.abc import Mapping
from datetime import datetime, timedelta

from forewarn.agent.events.observation import safe_event_id
from forewarn.agent.hooks.call import HookCall
from forewarn.protocol.codec import iso8601, plain_event
from forewarn.protocol.types import ScheduledEvent
from forewarn.protocol.versions import NEWEST

#: Variables intended only for the agent.
_AGENT_ONLY = frozenset(
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
_VARIABLE_LIMIT = 32_000  # bytes; Linux allows 128 kB per variable, often 2 MB in total
_CONTROLS = dict.fromkeys((*range(32), *range(127, 160), 0x2028, 0x2029), " ")


def hook_stdin(call: HookCall) -> bytes:
    """Return the event as received, on one line."""
    try:
        text = json.dumps(dict(_as_sent(call.event)))
    except RecursionError:  # just within the parser's depth limit
        text = json.dumps(_rebuilt(call.event))
    return text.encode() + b"\n"


def hook_environment(
    call: HookCall, *, own: Mapping[str, str], tried: int
) -> dict[str, str]:
    """Return a hook's environment: the agent's `own` variables and the call's.

    `tried` is the number of the try, starting at 1.
    """
    inherited = {name: own[name] for name in own if name not in _AGENT_ONLY}
    variables = _event(call.event) | _call(call, tried) | _time_left(call)
    if call.run.times > 1:
        variables["FOREWARN_AGAIN"] = "1"
    return inherited | {name: _clean(value) for name, value in variables.items()}


# --- variables ---------------------------------------------------------------


def _event(event: ScheduledEvent) -> dict[str, str]:
    shown = _as_sent(event)
    resources = _join_names(event.resources)
    duration = "" if event.duration is None else f"{event.duration}"
    return {
        "FOREWARN_EVENT_ID": safe_event_id(event.id),
        "FOREWARN_EVENT_TYPE": event.type,
        "FOREWARN_EVENT_STATUS": event.status,
        "FOREWARN_EVENT_SOURCE": event.source or "",
        "FOREWARN_EVENT_DESCRIPTION": event.description,
        "FOREWARN_EVENT_DURATION": duration,
        "FOREWARN_NOT_BEFORE": _time_text(event.not_before),
        "FOREWARN_RESOURCES": resources,
        # Names expected by scripts for other event handlers.
        "EVENT_ID": safe_event_id(event.id),
        "EVENT_TYPE": event.type,
        "EVENT_STATUS": event.status,
        "EVENT_SOURCE": event.source or "",
        "EVENT_NOTBEFORE": _text(shown.get("NotBefore")),
        "EVENT_RESOURCES": resources,
        "EVENT_RESOURCETYPE": _text(shown.get("ResourceType")),
    }


def _call(call: HookCall, tried: int) -> dict[str, str]:
    return {
        "FOREWARN_STEP": call.run.step,
        "FOREWARN_NAME": call.name,
        "FOREWARN_RULE": call.rule,
        "FOREWARN_HOOK": call.hook.name,
        "FOREWARN_TRY": f"{tried}",
        "FOREWARN_RUN": call.run.token,
        "FOREWARN_ENDPOINT": call.endpoint,
    }


def _time_left(call: HookCall) -> dict[str, str]:
    """Return the remaining time, limited by the hook's own timeout."""
    left, real, deadline = call.seconds_left(), call.wait_left(), call.deadline
    own = call.hook.timeout
    if own is not None:
        deadline -= timedelta(seconds=max(left - own, 0.0))
        left = min(left, own)
        real_own = call.clock.real(own)
        real = real_own if real is None else min(real, real_own)
    return {
        "FOREWARN_SECONDS_LEFT": f"{math.floor(max(left, 0))}",
        "FOREWARN_REAL_SECONDS_LEFT": "" if real is None else f"{max(real, 0):.3f}",
        "FOREWARN_DEADLINE": _time_text(deadline),
    }


def _as_sent(event: ScheduledEvent) -> Mapping[str, object]:
    """Return the event as received, or rebuild it in the newest api-version's form."""
    return event.raw or _rebuilt(event)


def _rebuilt(event: ScheduledEvent) -> Mapping[str, object]:
    return plain_event(event, NEWEST, NEWEST.date_form)


# --- formatting --------------------------------------------------------------


def _join_names(names: tuple[str, ...]) -> str:
    """Join names; names that do not fit are omitted rather than truncated."""
    kept: list[str] = []
    length = 0
    for name in names:
        length += len(name.encode(errors="replace")) + 1
        if length > _VARIABLE_LIMIT:
            break
        kept.append(name)
    return " ".join(kept)


def _clean(value: str) -> str:
    clean = value.translate(_CONTROLS).encode(errors="replace")
    return clean[:_VARIABLE_LIMIT].decode(errors="ignore")


def _time_text(moment: datetime | None) -> str:
    try:
        return "" if moment is None else iso8601(moment)
    except OverflowError:  # year out of range in UTC
        return ""


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
