"""Checks of the connection, the token, the service, its tokens and the agent's file."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from ipaddress import ip_address
from urllib.parse import urlsplit

from forewarn.cli.api import METADATA_ENDPOINT
from forewarn.cli.contexts import LOCAL_SERVICE, ServiceChoice
from forewarn.cli.output import format_distance, format_time, format_when
from forewarn.cli.responses import JsonObject
from forewarn.cli.setup.diagnosis import (
    AgentFacts,
    Diagnosis,
    DoctorFacts,
    ok,
    problem,
    skipped,
    unreadable,
    warning,
)
from forewarn.cli.setup.fleet_checks import check_fleet, check_limits, check_maintenance
from forewarn.errors import ForewarnError, Refused, Unreachable
from forewarn.formats import count, format_duration, join_names

_SOON = timedelta(days=7)  # a token that expires within this time needs attention
_SKEW = timedelta(seconds=5)  # a smaller difference between clocks does not matter
_CONTROL_PORT = 8255  # the default
_TLS_PAGE = "docs/how-to/put-the-control-plane-on-a-network.md"


def diagnose(facts: DoctorFacts) -> Sequence[Diagnosis]:
    """Return the results of all checks."""
    return [*_service(facts), *_agent(facts.agent)]


def _service(facts: DoctorFacts) -> Iterator[Diagnosis]:
    failure = connection_failure(facts)
    if failure is not None:
        yield _unreachable(facts, failure)
        yield skipped("service", "all other checks need a connection")
        return
    checks: Mapping[str, Callable[[DoctorFacts], Iterable[Diagnosis]]] = {
        "connection": _connection,
        "token": _token,
        "readiness": _readiness,
        "faults": _faults,
        "clock": _clock,
        "version": _version,
        "fleet": check_fleet,
        "limits": check_limits,
        "maintenance": check_maintenance,
        "notifiers": _notifiers,
        "tokens": _tokens,
    }
    is_known = isinstance(facts.service.session, JsonObject)
    for name, check in checks.items():
        if is_known or name in _WITHOUT_TOKEN:
            yield from check(facts)
    if not is_known:
        yield skipped("service", "all other checks need a valid token")


_WITHOUT_TOKEN = ("connection", "token", "readiness", "faults", "version")


# --- connection and token ----------------------------------------------------


def connection_failure(facts: DoctorFacts) -> ForewarnError | None:
    """Return why there is no connection to a service, or None if there is one."""
    if isinstance(facts.choice, ForewarnError):
        return facts.choice
    readiness = facts.service.readiness
    if isinstance(readiness, ForewarnError) and not _is_not_ready(readiness):
        return readiness
    return None


def _is_not_ready(error: ForewarnError) -> bool:
    return isinstance(error, Refused) and error.status == 503


def _unreachable(facts: DoctorFacts, error: ForewarnError) -> Diagnosis:
    if isinstance(facts.choice, ForewarnError):
        return problem("connection", str(error))
    choice = facts.choice
    parts = urlsplit(choice.url)
    if str(error) == METADATA_ENDPOINT:
        host = parts.netloc.rpartition(":")[0] or parts.netloc
        fix = f"forewarn doctor --url {parts.scheme}://{host}:{_CONTROL_PORT}"
    elif isinstance(error, Unreachable) and _is_loopback(parts.hostname or ""):
        fix = "forewarn serve"
    else:
        fix = "forewarn context show"
    is_foreign = isinstance(error, Refused) and str(error) != METADATA_ENDPOINT
    doubt = "; this may not be a forewarn service" if is_foreign else ""
    text = f"{error}{doubt} [address from {choice.url_source}]"
    return problem("connection", text, fix)


def _connection(facts: DoctorFacts) -> Iterator[Diagnosis]:
    choice = facts.choice
    assert isinstance(choice, ServiceChoice)
    parts = urlsplit(choice.url)
    is_private = parts.scheme == "https" or _is_loopback(parts.hostname or "")
    place = f"{choice.url} ({choice.url_source})"
    if is_private:
        yield ok("connection", place)
        return
    yield warning(
        "connection",
        f"{place}: the connection is not encrypted, so others on the network can read"
        " the token",
        f"see {_TLS_PAGE}",
    )


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _token(facts: DoctorFacts) -> Iterator[Diagnosis]:
    session, choice = facts.service.session, facts.choice
    assert isinstance(choice, ServiceChoice)
    if not isinstance(session, JsonObject):
        replaced = f"{choice.context} --replace" if choice.context else "NAME"
        fix = f"forewarn context add {replaced} --url {choice.url}"
        is_local = choice.url_source == LOCAL_SERVICE
        yield problem(
            "token", str(session), "forewarn context show" if is_local else fix
        )
        return
    name, role, group = (session.text(key) for key in ("name", "role", "group"))
    rights = f"group: {group}" if group else f"role: {role}"
    expires_at, now = session.time("token_expires_at"), facts.service_now
    about = f"{name} ({rights}), from {choice.token_source}"
    if expires_at is None:
        yield ok("token", about)
    elif expires_at - now > _SOON:
        yield ok("token", f"{about}, expires {format_distance(expires_at, now)}")
    else:
        limit = f"--group {group}" if group else f"--role {role}"
        yield warning(
            "token",
            f"{about}, expires {format_when(expires_at, now)}",
            facts.command(f"token create NAME {limit} --expires 90d"),
        )


# --- the service -------------------------------------------------------------


def _readiness(facts: DoctorFacts) -> Iterator[Diagnosis]:
    readiness = facts.service.readiness
    if isinstance(readiness, ForewarnError):
        yield problem(
            "readiness", f"not ready: {readiness}", facts.command("health --wait 30s")
        )
        return
    warnings = readiness.names("warnings") if readiness else ()
    for text in warnings:
        yield warning("readiness", text, facts.command("health"))
    if not warnings:
        yield ok("readiness", "ready: writes succeed, and VMs see current events")


def _faults(facts: DoctorFacts) -> Iterator[Diagnosis]:
    readiness, faults = facts.service.readiness, facts.service.faults
    kinds = readiness.names("faults") if isinstance(readiness, JsonObject) else ()
    items = faults.parts("items") if isinstance(faults, JsonObject) else ()
    if not kinds and not items:
        return
    described = [_fault(item, facts.service_now) for item in items]
    yield warning(
        "faults",
        f"VMs receive intentionally faulty responses: {join_names(described or kinds)}",
        facts.command("faults clear"),
    )


def _fault(fault: JsonObject, now: datetime) -> str:
    set_at = fault.time("set_at")
    since = f", {format_distance(set_at, now)}" if set_at else ""
    return f"{fault.text('kind')} (set by {fault.text('set_by')}{since})"


def _clock(facts: DoctorFacts) -> Iterator[Diagnosis]:
    clock, read_at = facts.service.clock, facts.service.clock_read_at
    if not isinstance(clock, JsonObject):
        yield from unreadable("clock", clock)
        return
    kind, now = clock.text("clock"), clock.time("now")
    paused_until = clock.time("stands_still_until")
    if paused_until is not None:
        behind = clock.time("system_now") or facts.now
        yield problem(
            "clock",
            f"paused until {format_when(paused_until, behind)}, because the journal is"
            " ahead of the clock; until then, nothing becomes due",
            "timedatectl",
        )
    elif kind == "manual":
        yield ok(
            "clock",
            f"manual: stays at {format_time(now)} until advanced",
        )
    elif kind != "system":
        yield ok("clock", f"{kind}: runs {str(kind).lstrip('x')} times as fast")
    elif now and read_at and abs(now - read_at) > _SKEW:
        side = "ahead of" if now > read_at else "behind"
        yield warning(
            "clock",
            f"the service's clock is {format_duration(abs(now - read_at))} {side} this"
            " machine's; on both machines, check that the time is synchronized",
            "timedatectl",
        )
    else:
        yield ok("clock", "system clock, in sync with this machine's")


def _version(facts: DoctorFacts) -> Iterator[Diagnosis]:
    readiness = facts.service.readiness
    theirs = readiness.text("version") if isinstance(readiness, JsonObject) else None
    if theirs is None:
        yield ok("version", f"{facts.version}; the service does not report its own")
    elif theirs == facts.version:
        yield ok("version", f"{theirs}, the same as this command")
    else:
        yield warning(
            "version",
            f"the service is version {theirs}, but this command is version"
            f" {facts.version}; some commands may fail",
            "see docs/how-to/back-up-and-upgrade.md",
        )


# --- notifications and tokens ------------------------------------------------


def _notifiers(facts: DoctorFacts) -> Iterator[Diagnosis]:
    notifiers, now = facts.service.notifiers, facts.service_now
    if not isinstance(notifiers, JsonObject):
        yield from unreadable("notifiers", notifiers)
        return
    targets = notifiers.parts("items")
    failing = [target for target in targets if target.number("failures")]
    for target in failing:
        name, last = target.text("name"), target.time("last_success")
        success = f"last success {format_distance(last, now)}" if last else "no success"
        yield problem(
            "notifiers",
            f"target {name} has failed {target.number('failures')} times in a row"
            f" ({success}, {count(target.number('behind') or 0, 'entry')} not"
            f" delivered): {target.text('last_error')}".replace("entrys", "entries"),
            facts.command(f"notify test {name}"),
        )
    if not failing:
        yield ok(
            "notifiers",
            f"{count(len(targets), 'target')}, none failing"
            if targets
            else "no targets",
        )


def _tokens(facts: DoctorFacts) -> Iterator[Diagnosis]:
    tokens, now = facts.service.tokens, facts.service_now
    if not isinstance(tokens, JsonObject):
        yield from unreadable("tokens", tokens)
        return
    listed = tokens.parts("items")
    ends = {item.text("name") or "?": item.time("expires_at") for item in listed}
    near = {
        name: at
        for name, at in ends.items()
        if at is not None and abs(at - now) < _SOON
    }
    if near:
        named = [
            f"{name} ({format_distance(at, now)})"
            for name, at in sorted(near.items(), key=lambda item: item[1])
        ]
        yield warning(
            "tokens",
            f"{count(len(near), 'token')} expiring soon or recently expired:"
            f" {join_names(named)}",
            facts.command("token create NAME --role ROLE --expires 90d"),
        )
    else:
        number = f"{count(len(listed), 'token')}, none expiring within a week"
        yield ok("tokens", number if listed else "only the admin token")


# --- this machine ------------------------------------------------------------


def _agent(agent: AgentFacts | None) -> Iterator[Diagnosis]:
    if agent is None:
        return
    fix = f"forewarn agent check --config {agent.path}"
    if agent.problems:
        yield problem("agent", _first(agent, agent.problems), fix)
    elif agent.warnings:
        yield warning("agent", _first(agent, agent.warnings), fix)
    else:
        yield ok("agent", f"{agent.path}: {agent.about}")


def _first(agent: AgentFacts, texts: Sequence[str]) -> str:
    """Describe the first problem in the agent's file, and how many more there are."""
    more = f" (and {len(texts) - 1} more)" if len(texts) > 1 else ""
    return f"{agent.path}: {texts[0].removeprefix(f'{agent.path}, ')}{more}"
