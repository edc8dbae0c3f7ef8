"""`forewarn doctor`: find out what is wrong with a service, and how to fix it."""

import argparse
import os
import shlex
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path

from forewarn import __version__
from forewarn.cli.api import ControlApi, api_for, segment
from forewarn.cli.contexts import choose
from forewarn.cli.options import Subcommands, add_command
from forewarn.cli.output import Style, Styled, painted, paragraph, write_response
from forewarn.cli.progress import progress
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.setup.diagnosis import (
    AgentFacts,
    Diagnosis,
    DiagnosisLevel,
    DoctorFacts,
    Part,
    ServiceFacts,
)
from forewarn.cli.setup.fleet_checks import SEPARATE
from forewarn.cli.setup.service_checks import connection_failure, diagnose
from forewarn.clocks import SystemClock
from forewarn.errors import CannotStart, ForewarnError, TimedOut
from forewarn.formats import count, join_all

_DESCRIPTION = """\
Check the connection, the token, the service, its clock, the fleet, maintenance
operations, notification targets and tokens, and the agent's file if this machine
has one. For each finding, the output shows why it matters and a command that
helps. Nothing is changed. The exit code is 1 if there is a problem; warnings do
not count."""

_REQUEST_TIMEOUT = 10.0  # seconds
_TOTAL_TIMEOUT = 30.0  # seconds for all requests
_PAGES = 10  # pages of maintenance operations
_PAGE_SIZE = 100

_STYLES: Mapping[DiagnosisLevel, Style] = {
    DiagnosisLevel.OK: "green",
    DiagnosisLevel.SKIPPED: "dim",
    DiagnosisLevel.WARNING: "yellow",
    DiagnosisLevel.PROBLEM: "red",
}
_LEVEL_WIDTH, _CHECK_WIDTH = 9, 13
_MARGIN = _LEVEL_WIDTH + _CHECK_WIDTH


def register(subcommands: Subcommands) -> None:
    """Add `doctor`."""
    add_command(
        subcommands,
        "doctor",
        _run,
        summary="find out what is wrong, and how to fix it",
        description=_DESCRIPTION,
        example="forewarn doctor",
    )


def _run(args: argparse.Namespace) -> int:
    with progress("checking the service"):
        found = diagnose(_facts(args))
    plain = {
        "problems": _number(found, DiagnosisLevel.PROBLEM),
        "warnings": _number(found, DiagnosisLevel.WARNING),
        "checks": [_plain(diagnosis) for diagnosis in found],
    }
    write_response(args, plain, _lines(found))
    return 1 if plain["problems"] else 0


def _plain(diagnosis: Diagnosis) -> dict[str, str | None]:
    return {**asdict(diagnosis), "text": diagnosis.text.replace("\xa0", " ")}


def _number(found: Sequence[Diagnosis], level: DiagnosisLevel) -> int:
    return sum(1 for diagnosis in found if diagnosis.level is level)


# --- facts -------------------------------------------------------------------


def _facts(args: argparse.Namespace) -> DoctorFacts:
    now = SystemClock().now()
    agent = _agent_facts(os.environ)
    facts = DoctorFacts(
        choice=CannotStart("unknown"),
        service=ServiceFacts(),
        version=__version__,
        now=now,
        options=_options(args),
        agent=agent,
    )
    try:
        choice = choose(args, os.environ)
        api = api_for(choice)
    except ForewarnError as error:
        return replace(facts, choice=error)
    return _service_facts(replace(facts, choice=choice), _Reader(api))


def _options(args: argparse.Namespace) -> str:
    """Return the options that choose the service, except the token, for commands."""
    names = [name for name in ("context", "url", "ca") if name in args.typed]
    return "".join(f" --{name} {shlex.quote(getattr(args, name))}" for name in names)


class _Reader:
    """Reads responses, each within a time limit, and all within another one."""

    def __init__(self, api: ControlApi) -> None:
        self._api = api
        self._until = time.monotonic() + _TOTAL_TIMEOUT

    def get(self, path: str, *, is_anonymous: bool = False) -> Part:
        """Return a response, or the reason why there is none."""
        left = self._until - time.monotonic()
        if left <= 0:
            return TimedOut(
                f"not checked, because earlier responses took {_TOTAL_TIMEOUT:g} s"
            )
        api = replace(self._api, token=None) if is_anonymous else self._api
        try:
            timeout = min(left, _REQUEST_TIMEOUT)
            return object_from(api.request("GET", path, timeout=timeout))
        except ForewarnError as error:
            return error


def _service_facts(facts: DoctorFacts, reader: _Reader) -> DoctorFacts:
    # The token is sent only to a forewarn service.
    readiness = reader.get("/readyz", is_anonymous=True)
    facts = replace(facts, service=ServiceFacts(readiness=readiness))
    if connection_failure(facts) is not None:
        return facts
    service = replace(facts.service, session=reader.get("/v1/session"))
    if not isinstance(service.session, JsonObject):
        return replace(facts, service=service)
    before = SystemClock().now()
    clock = reader.get("/v1/clock")
    middle = before + (SystemClock().now() - before) / 2
    overview, is_cut = _overview(reader)
    if not isinstance(overview, ForewarnError):
        overview = _with_reasons(reader, overview)
    service = replace(
        service,
        clock=clock,
        clock_read_at=middle,
        faults=reader.get("/v1/faults"),
        fleet=reader.get("/v1/fleet/checks"),
        limited=reader.get("/v1/fleet/limited"),
        overview=overview,
        overview_is_cut=is_cut,
        notifiers=reader.get("/v1/notifiers"),
        tokens=reader.get("/v1/tokens?limit=1000"),
    )
    return replace(facts, service=service)


def _overview(reader: _Reader) -> tuple[Sequence[JsonObject] | ForewarnError, bool]:
    """Return live operations, and whether there are more."""
    items: list[JsonObject] = []
    after = ""
    for _ in range(_PAGES):
        page = reader.get(f"/v1/overview?limit={_PAGE_SIZE}{after}")
        if not isinstance(page, JsonObject):
            return page or TimedOut("not checked"), False
        items += page.parts("items")
        following = page.text("next")
        if following is None:
            return items, False
        after = f"&after={following}"
    return items, True


def _with_reasons(reader: _Reader, items: Sequence[JsonObject]) -> list[JsonObject]:
    """Replace the waits of stuck operations with those that contain the reason."""
    explained, left = [], SEPARATE
    for item in items:
        maintenance = item.part("maintenance")
        if left and maintenance.text("stuck_since"):
            left -= 1
            place = segment(maintenance.text("id") or "")
            reasons = reader.get(f"/v1/maintenances/{place}/explain")
            if isinstance(reasons, JsonObject):
                item = JsonObject({**item.plain, "waits": reasons.list("waits")})
        explained.append(item)
    return explained


def _agent_facts(environment: Mapping[str, str]) -> AgentFacts | None:
    """Check the agent's file, if there is one on this machine."""
    if not sys.platform.startswith("linux"):
        return None
    from forewarn.agent.config import file
    from forewarn.agent.config.preflight import check_machine

    given = environment.get(file.VARIABLE)
    path = Path(given) if given else file.DEFAULT
    if not given and not os.access(path, os.R_OK):
        return None
    try:
        plan = file.read_plan(path)
    except ForewarnError as error:
        return AgentFacts(path=str(path), problems=str(error).splitlines())
    about = f"{count(len(plan.rules), 'rule')}, {count(len(plan.hooks), 'hook')}"
    return AgentFacts(
        path=str(path),
        about=about,
        problems=check_machine(plan),
        warnings=plan.warnings,
    )


# --- output ------------------------------------------------------------------


def _lines(found: Sequence[Diagnosis]) -> Iterator[str]:
    for diagnosis in found:
        level, check = diagnosis.level, diagnosis.check
        head = f"{level:{_LEVEL_WIDTH}}{check:{_CHECK_WIDTH}}"
        text = paragraph(f"{head}{diagnosis.text}", _MARGIN)
        label = painted(str(level), Styled(level, _STYLES[level]))
        yield f"{label}{text[len(level) :]}"
        if diagnosis.fix:
            yield f"{' ' * _MARGIN}fix: {diagnosis.fix}"
    yield f"\n{_summary(found)}"


def _summary(found: Sequence[Diagnosis]) -> str:
    numbers = [
        count(number, str(level))
        for level in (DiagnosisLevel.PROBLEM, DiagnosisLevel.WARNING)
        if (number := _number(found, level))
    ]
    return f"{join_all(numbers)}." if numbers else "No problems found."
