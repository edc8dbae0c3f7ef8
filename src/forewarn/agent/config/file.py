"""Reader that turns the agent's configuration file and scripts directory into a plan.

1. All errors are reported together, each with its line number. Warnings become part of
   the plan.
2. A scripts directory contains files named on<Type>.sh, and each event type with
   scripts gets a rule. `onReboot.sh` prepares for a reboot, which is approved if the
   script succeeds. Scripts such as `onReboot.recover.sh` handle the other steps. Events
   of a type without a preparing script are not approved.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote
from typing import Any

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    Hook,
    HookPoint,
    Plan,
    Rule,
    SharedApproval,
)
from forewarn.agent.config.schema import (
    HOOK,
    METRICS,
    RULE,
    STEPS,
    TOP,
    ConfigKey,
    Keys,
    read_fields,
)
from forewarn.agent.rules import covering_rules
from forewarn.configfile import toml
from forewarn.configfile.diagnostics import Diagnostics, Location
from forewarn.configfile.values import invalid_value, nearest, suggestion
from forewarn.errors import CannotStart, FaultyFile
from forewarn.formats import join_all
from forewarn.protocol.types import EventType
from forewarn.protocol.versions import VERSIONS

#: The default location of the file.
DEFAULT = Path("/etc/forewarn/agent.toml")
#: The environment variable for the file's location.
VARIABLE = "FOREWARN_AGENT_CONFIG"

_SYSTEM_STATE = Path("/var/lib/forewarn-agent")
_IF_MISSING = "; create it, or specify another file with --config"
_TABLES = ("metrics", "hooks", "rules")
_HOOK_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")

_SCRIPT = re.compile(r"on([a-z]+)(?:\.([a-z-]+))?\.sh", re.IGNORECASE)
_TYPES_BY_NAME: Mapping[str, EventType] = {type_.lower(): type_ for type_ in EventType}
_STEPS_BY_SUFFIX: Mapping[str, HookPoint] = {
    "": HookPoint.PREPARE,
    **{str(step): step for step in HookPoint},
}


def read_plan(path: Path) -> Plan:
    """Read the file and the scripts directory that it names."""
    text = toml.decode(
        toml.read_bytes(path, CannotStart, if_missing=_IF_MISSING), path, CannotStart
    )
    plain = toml.parse(text, path, CannotStart)
    diagnostics = Diagnostics(file=path, lines=toml.lines_of(text))
    plan = _plan(plain, Location(diagnostics=diagnostics))
    if diagnostics.errors:
        raise FaultyFile("\n".join(diagnostics.errors))
    return replace(plan, file=path, warnings=diagnostics.warnings)


def default_state_folder(environment: Mapping[str, str] | None = None) -> Path:
    """Return the default state directory: systemd's, the machine's, or the user's."""
    variables = os.environ if environment is None else environment
    systemd_folder = variables.get("STATE_DIRECTORY")
    if systemd_folder:
        return Path(systemd_folder.partition(":")[0])
    if os.geteuid() == 0:
        return _SYSTEM_STATE
    shared = variables.get("XDG_STATE_HOME")
    above = Path(shared) if shared else Path.home() / ".local" / "state"
    return above / "forewarn-agent"


def state_folder_of(path: Path) -> Path:
    """Return the state directory in the file, even if other settings are invalid."""
    folder = toml.load(path, CannotStart).get("state")
    if isinstance(folder, str) and folder:
        return path.parent / folder
    return default_state_folder()


# --- the parts of a plan -----------------------------------------------------


def _plan(plain: Mapping[str, Any], top: Location) -> Plan:
    keys = {**TOP, **{part: ConfigKey(_unchanged, part) for part in _TABLES}}
    settings = _fields(plain, keys, top)
    parts = {part: settings.pop(part) for part in _TABLES if part in settings}
    hooks = _hooks(parts.get("hooks", {}), top.below("hooks", "[hooks]"))
    rules = _rules(parts.get("rules", []), top.below("rules"), hooks)
    in_file = len(rules)
    if "scripts" in settings:
        scripts = _read_script_folder(settings["scripts"], top.key("scripts"))
        script_hooks, script_rules = scripts
        hooks |= script_hooks
        rules += script_rules
    settings.setdefault("state", default_state_folder())
    plan = Plan(
        **settings,
        **_fields(parts.get("metrics", {}), METRICS, top.below("metrics", "[metrics]")),
        hooks=hooks,
        rules=tuple(rules),
    )
    _check_whole(plan, top, in_file=in_file)
    return plan


def _unchanged(value: object) -> object:
    return value


def _fields(table: object, keys: Keys, location: Location) -> dict[str, Any]:
    """Parse a table and report its problems; paths are relative to the file."""
    values, problems = read_fields(table, keys)
    location.refuse_parts(problems)
    return {
        name: location.folder / value if isinstance(value, Path) else value
        for name, value in values.items()
    }


def _check_whole(plan: Plan, top: Location, *, in_file: int) -> None:
    """Check the plan as a whole; the first `in_file` rules come from the file."""
    if not plan.rules and not top.diagnostics.errors:
        top.refuse(
            "the file has no rules, so the agent would do nothing; add a [[rules]]"
            " table"
        )
    if plan.discover and plan.endpoint is not None:
        top.key("discover").refuse(
            "`discover` cannot be combined with `endpoint`; remove one of them"
        )
    seen: set[str] = set()
    for number, rule in enumerate(plan.rules):
        if rule.name in seen:
            location = top.below("rules").below(number).below("name")
            location.refuse(f'two rules are named "{rule.name}"')
        seen.add(rule.name)
    _add_warnings(plan, top, in_file=in_file)


# --- hooks -------------------------------------------------------------------


def _hooks(table: object, location: Location) -> dict[str, Hook]:
    if not isinstance(table, dict):
        location.refuse(str(invalid_value("tables such as [hooks.drain]", table)))
        return {}
    return {
        name: _hook(name, hook_table, location) for name, hook_table in table.items()
    }


def _hook(name: str, table: object, above: Location) -> Hook:
    location = above.below(name, f"[hooks.{name}]")
    if not _HOOK_NAME.fullmatch(name):
        location.refuse(
            "a hook name must consist of 1 to 64 letters, digits, dots, hyphens and"
            " underscores"
        )
    settings = _fields(table, HOOK, location)
    given = {"command", "python"}.intersection(table if isinstance(table, dict) else ())
    if len(given) > 1:
        location.key("python").refuse("a hook cannot have both `command` and `python`")
    elif not given:
        location.refuse("a hook requires `command` or `python`")
    if "/" in settings.get("command", [""])[0]:
        program, *words = settings["command"]
        path = (location.folder / program).absolute()  # otherwise $PATH may be searched
        settings["command"] = (str(path), *words)
    return Hook(name=name, **settings)


# --- rules -------------------------------------------------------------------


def _rules(tables: object, location: Location, hooks: Mapping[str, Hook]) -> list[Rule]:
    if isinstance(tables, dict):
        location.refuse(
            "rules must be an array of tables; use [[rules]] instead of [rules]"
        )
        return []
    if not isinstance(tables, list):
        location.refuse(f"rules: {invalid_value('tables called [[rules]]', tables)}")
        return []
    return [
        _rule(table, number, location.below(number), hooks)
        for number, table in enumerate(tables)
    ]


def _rule(
    table: object, number: int, location: Location, hooks: Mapping[str, Hook]
) -> Rule:
    name = table.get("name") if isinstance(table, dict) else None
    title = f'"{name}"' if isinstance(name, str) else f"number {number + 1}"
    location = replace(location, label=f"[[rules]] {title}")
    settings = _fields(table, RULE, location)
    by_step = {
        HookPoint(key.field): settings.pop(key.field)
        for key in STEPS.values()
        if key.field in settings
    }
    settings.setdefault("name", f"rule {number + 1}")
    rule = Rule(
        hooks={step: names for step, names in by_step.items() if names}, **settings
    )
    for used, at in _used_hooks(rule, location):
        if used not in hooks:
            at.refuse(f'hook "{used}" not found{_hook_hint(used, hooks)}')
    if rule.together is SharedApproval.WHEN_READY and rule.ready is None:
        location.key("together").refuse(
            '"when-ready" needs `ready`, a hook that checks whether all VMs are ready'
        )
    return rule


def _hook_hint(used: str, hooks: Mapping[str, Hook]) -> str:
    """Suggest a hook with a similar name, or explain how to define one."""
    if _HOOK_NAME.fullmatch(used):
        return suggestion(used, hooks)
    return "; define it as the command of a [hooks.NAME] table, and use NAME here"


def _used_hooks(rule: Rule, location: Location) -> Iterator[tuple[str, Location]]:
    for name, key in STEPS.items():
        for number, hook in enumerate(rule.hooks.get(HookPoint(key.field), ())):
            yield hook, location.key(name).below(number)
    if rule.ready is not None:
        yield rule.ready, location.key("ready")


# --- folder of scripts -------------------------------------------------------


def _read_script_folder(
    folder: Path, location: Location
) -> tuple[dict[str, Hook], list[Rule]]:
    """Return the hooks and rules of a directory; report its problems at `location`."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        location.refuse(f"cannot read {folder}: {why}")
        return {}, []
    by_step: dict[tuple[EventType, HookPoint], str] = {}
    for name in names:
        meaning = _type_and_step(name)
        if meaning is None:
            if not name.startswith("."):
                location.warn(f"{name} in {folder} is ignored{_name_hint(name)}")
        elif meaning in by_step:
            location.refuse(
                f"{by_step[meaning]} and {name} in {folder} are for the same step;"
                " remove one of them"
            )
        else:
            by_step[meaning] = name
            _check_script(folder / name, location)
    hooks = {
        name: Hook(name=name, command=(str(folder.absolute() / name),), is_script=True)
        for name in by_step.values()
    }
    return hooks, [*_script_rules(by_step)]


def _script_rules(by_step: Mapping[tuple[EventType, HookPoint], str]) -> Iterator[Rule]:
    for event_type in EventType:
        hooks = {
            step: (by_step[event_type, step],)
            for step in HookPoint
            if (event_type, step) in by_step
        }
        if hooks:
            prepares = HookPoint.PREPARE in hooks
            yield Rule(
                name=f"on{event_type}.sh",
                types=frozenset({event_type.value}),
                hooks=hooks,
                approve=ApprovalPolicy.AFTER_HOOKS
                if prepares
                else ApprovalPolicy.NEVER,
                together=SharedApproval.LEADER,
            )


def _type_and_step(name: str) -> tuple[EventType, HookPoint] | None:
    """Return the event type and step of a script, or None if its name does not fit."""
    parts = _SCRIPT.fullmatch(name)
    if parts is None:
        return None
    event_type = _TYPES_BY_NAME.get(parts[1].lower())
    step = _STEPS_BY_SUFFIX.get((parts[2] or "").lower())
    return None if event_type is None or step is None else (event_type, step)


def _name_hint(name: str) -> str:
    ends = ("", *(f".{step}" for step in HookPoint))
    near = nearest(
        name, [f"on{event_type}{end}.sh" for event_type in EventType for end in ends]
    )
    if near is None:
        return "; script names must have the form on<Type>.sh or on<Type>.<step>.sh"
    return f'; did you mean "{near}"?'


def _check_script(path: Path, location: Location) -> None:
    if not path.is_file():
        location.refuse(f"{path} is not a file")
    elif not os.access(path, os.X_OK):
        location.refuse(f"{path} is not executable; run: chmod +x {quote(str(path))}")


# --- warnings ----------------------------------------------------------------


def _add_warnings(plan: Plan, top: Location, *, in_file: int) -> None:
    """Add all warnings; the first `in_file` rules come from the file itself."""
    for number, rule in enumerate(plan.rules):
        is_written = number < in_file
        location = (
            top.below("rules").below(number) if is_written else top.below("scripts")
        )
        for warning in (
            *_never_matches(plan, number, rule),
            *_missing_fields(plan, rule),
            *_odd_approval(rule),
        ):
            location.warn(f'rule "{rule.name}" {warning}')
    used = {name for rule in plan.rules for name in _hook_names(rule)}
    for name in plan.hooks:
        if name not in used:
            top.below("hooks").below(name).warn(f'no rule uses the hook "{name}"')
    if plan.blind_after < 2 * plan.poll:
        top.below("poll_seconds").warn(
            "the blindness alarm will turn on and off repeatedly, because"
            f" blind_after_seconds ({plan.blind_after:g}) is less than twice"
            f" poll_seconds ({plan.poll:g})"
        )


def _hook_names(rule: Rule) -> Iterator[str]:
    """Yield the name of every hook of a rule."""
    for names in rule.hooks.values():
        yield from names
    if rule.ready is not None:
        yield rule.ready


def _never_matches(plan: Plan, number: int, rule: Rule) -> Iterator[str]:
    covering = covering_rules(plan.rules[:number], rule)
    if covering:
        names = " and ".join(f'"{name}"' for name in covering)
        yield f"never matches, because earlier rules match all its events: {names}"


def _missing_fields(plan: Plan, rule: Rule) -> Iterator[str]:
    """Yield a warning for each condition on a field that the api-version lacks."""
    version = VERSIONS[plan.api_version]
    takes_none = rule.description is None or fnmatchcase("", rule.description)
    conditions = (
        ("sources", rule.sources is not None and not version.source),
        ("duration_seconds", rule.duration is not None and not version.duration),
        ("description", not takes_none and not version.description),
    )
    for key, is_missing in conditions:
        if is_missing:
            yield (
                f"never matches, because api_version {version.name} has no field for"
                f" its condition {key}"
            )
    hidden = sorted((rule.types or frozenset()) - version.types)
    if hidden:
        yield (
            f"is for {join_all(hidden)}, which api_version {version.name} does not"
            " include"
        )


def _odd_approval(rule: Rule) -> Iterator[str]:
    prepares = HookPoint.PREPARE in rule.hooks
    if rule.approve is ApprovalPolicy.AFTER_HOOKS and not prepares:
        yield (
            "has no `prepare` hooks, so it approves events as soon as it sees them;"
            ' set approve to "at-once" if this is intended, or to "never"'
            " otherwise"
        )
    if rule.ready is not None and rule.together is not SharedApproval.WHEN_READY:
        yield 'has a `ready` hook, which has no effect without together = "when-ready"'
