"""The service's clock: reading it, and advancing a manual one."""

from datetime import datetime, timedelta

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr

from forewarn.engine.timers import LONGEST_ADVANCE
from forewarn.errors import InvalidInput
from forewarn.ports import Clock, Snapshot
from forewarn.server.control.asked import Caller, Change, Service
from forewarn.server.control.bodies import moment
from forewarn.server.control.views import Json, rfc3339, written

router = APIRouter(tags=["clock"])

_MOST_SECONDS = int(LONGEST_ADVANCE.total_seconds())


class Step(BaseModel):
    """How far to move the clock: by seconds, or to a time."""

    model_config = ConfigDict(extra="forbid")

    seconds: StrictInt | None = Field(None, ge=0, le=_MOST_SECONDS)
    to: StrictStr | None = Field(None, description="RFC 3339 with a zone")


@router.get("/v1/clock")
def show_clock(service: Service, by: Caller) -> Json:
    """Tell the time of the service."""
    del by
    return clock_view(service.engine.clock)


@router.post("/v1/clock/advance")
def advance(service: Service, asked: Change, body: Step) -> Json:
    """Move a manual clock, deadline by deadline."""

    def render(now: datetime, snapshot: Snapshot) -> str:
        del snapshot
        return written(_view(now))

    once = asked.once(200, render)
    if (body.seconds is None) == (body.to is None):
        raise InvalidInput("give either seconds or to")
    if body.seconds is not None:
        return _view(service.advance.by(timedelta(seconds=body.seconds), once))
    return _view(service.advance.to(moment(body.to or "", "to"), once))


def clock_view(clock: Clock) -> Json:
    """Return the kind and the time of `clock` as JSON."""
    return {"clock": clock.name, "now": rfc3339(clock.now())}


def _view(now: datetime) -> Json:
    return {"clock": "manual", "now": rfc3339(now)}
