"""Configuration file of the agent: parses TOML into a plan, or reports every error."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from forewarn.agent import drop_ins, places
from forewarn.agent.complaints import Complaints, Place, meant
from forewarn.agent.keys import HOOK, METRICS, RULE, STEPS, TOP, Key, fields
from forewarn.agent.lines import lines_of
from forewarn.agent.oddities import warn_of_oddities
from forewarn.agent.plan import Hook, Plan, Rule, Step, Together
from forewarn.agent.values import wrong
from forewarn.errors import CannotStart, FaultyFile, InvalidInput

#: Default location of the file.
DEFAULT = Path("/etc/forewarn/agent.toml")
#: Environment variable with the location of the file.
VARIABLE = "FOREWARN_AGENT_CONFIG"

_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_AT = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_TO_BEGIN_WITH = "; write it, or name another with --config"
_PARTS = ("metrics", "hooks", "rules")


def read(path: Path) -> Plan:
    """Read the file and the folder of scripts that it names."""
    text = _text(path)
    try:
        plain = tomllib.loads(text)
        complaints = Complaints(file=path, lines=lines_of(text))
    except (ValueError, RecursionError) as error:
        raise CannotStart(_not_toml(path, text, error)) from error
    plan = _plan(plain, Place(complaints=complaints))
    if complaints.errors:
        raise FaultyFile("\n".join(complaints.errors))
    return replace(plan, warnings=complaints.warnings)


# --- the file itself ---------------------------------------------------------


def _text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        more = _TO_BEGIN_WITH if isinstance(error, FileNotFoundError) else ""
        raise CannotStart(f"{path} cannot be read: {why}{more}") from error
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise CannotStart(f"{path}, line {line}: this is not UTF-8") from error


def _not_toml(path: Path, text: str, error: Exception) -> str:
    if isinstance(error, RecursionError):
        return f"{path}, line 1: this is no configuration: it is nested too deep"
    message = str(error)
    position = _AT.search(message)
    line = int(position[1]) if position and position[1] else text.count("\n") + 1
    column = f", column {position[2]}" if position and position[2] else ""
    what = _AT.sub("", message)
    return f"{path}, line {line}{column}: this is not TOML: {what}"


# --- the parts of a plan -----------------------------------------------------


def _plan(plain: Mapping[str, Any], top: Place) -> Plan:
    keys = {**TOP, **{part: Key(_as_it_is, part) for part in _PARTS}}
    settings = fields(plain, keys, top)
    parts = {part: settings.pop(part) for part in _PARTS if part in settings}
    hooks = _hooks(parts.get("hooks", {}), top.below("hooks", "[hooks]"))
    rules = _rules(parts.get("rules", []), top.below("rules"), hooks)
    scripts = drop_ins.Scripts()
    if "scripts" in settings:
        scripts = drop_ins.find(settings["scripts"], top.key("scripts"))
    settings.setdefault("state", places.state_folder())
    plan = Plan(
        **settings,
        **_metrics(parts.get("metrics", {}), top.below("metrics", "[metrics]")),
        hooks={**hooks, **scripts.hooks},
        rules=(*rules, *scripts.rules),
    )
    _check_whole(plan, top, of_file=len(rules))
    return plan


def _as_it_is(value: object, _: Place) -> object:
    return value


def _metrics(table: object, place: Place) -> dict[str, Any]:
    try:
        return fields(table, METRICS, place)
    except InvalidInput as error:
        place.refuse(str(error))
        return {}


def _check_whole(plan: Plan, top: Place, *, of_file: int) -> None:
    """Check what only the whole file shows; its first `of_file` rules are its own."""
    if not plan.rules and not top.complaints.errors:
        top.refuse("there are no rules, so the agent would do nothing; add [[rules]]")
    seen: set[str] = set()
    for number, rule in enumerate(plan.rules):
        if rule.name in seen:
            place = top.below("rules").below(number).below("name")
            place.refuse(f'two rules are called "{rule.name}"')
        seen.add(rule.name)
    warn_of_oddities(plan, top, of_file=of_file)


# --- hooks -------------------------------------------------------------------


def _hooks(table: object, place: Place) -> dict[str, Hook]:
    if not isinstance(table, dict):
        place.refuse(str(wrong("tables such as [hooks.drain]", table)))
        return {}
    return {name: _hook(name, hook_table, place) for name, hook_table in table.items()}


def _hook(name: str, table: object, above: Place) -> Hook:
    place = above.below(name, f"[hooks.{name}]")
    if not _NAME.fullmatch(name):
        place.refuse("a hook is called by at most 64 letters, digits, dots, - and _")
    try:
        settings = fields(table, HOOK, place)
    except InvalidInput as error:
        place.refuse(f"{error}; what it runs is its command")
        return Hook(name=name)
    targets = [key for key in ("command", "python") if key in _keys(table)]
    if len(targets) > 1:
        place.key("python").refuse("a hook has a command or a python, not both")
    elif not targets:
        place.refuse("a hook needs a command, or a python")
    return Hook(name=name, **settings)


def _keys(table: object) -> frozenset[str]:
    """Return the keys of a table, including those with invalid values."""
    return frozenset(table) if isinstance(table, dict) else frozenset()


# --- rules -------------------------------------------------------------------


def _rules(tables: object, place: Place, hooks: Mapping[str, Hook]) -> list[Rule]:
    if isinstance(tables, dict):
        place.refuse("rules are a list: write [[rules]], not [rules]")
        return []
    if not isinstance(tables, list):
        place.refuse(f"rules: {wrong('tables called [[rules]]', tables)}")
        return []
    return [
        _rule(table, number, place.below(number), hooks)
        for number, table in enumerate(tables)
    ]


def _rule(table: object, number: int, place: Place, hooks: Mapping[str, Hook]) -> Rule:
    name = table.get("name") if isinstance(table, dict) else None
    title = f'"{name}"' if isinstance(name, str) else f"number {number + 1}"
    place = replace(place, label=f"[[rules]] {title}")
    try:
        settings = fields(table, RULE, place)
    except InvalidInput as error:
        place.refuse(str(error))
        return Rule(name=f"rule {number + 1}")
    by_step = {
        Step(key.field): settings.pop(key.field)
        for key in STEPS.values()
        if key.field in settings
    }
    settings.setdefault("name", f"rule {number + 1}")
    rule = Rule(
        hooks={step: names for step, names in by_step.items() if names}, **settings
    )
    for used, at in _used_hooks(rule, place):
        if used not in hooks:
            at.refuse(f'there is no hook "{used}"{_instead(used, hooks)}')
    if rule.together is Together.WHEN_READY and rule.ready is None:
        place.key("together").refuse(
            '"when-ready" needs a key `ready`, the hook that tells whether all are'
        )
    return rule


def _instead(used: str, hooks: Mapping[str, Hook]) -> str:
    """Return a hint: a hook with a similar name, or how to define one."""
    if _NAME.fullmatch(used):
        return meant(used, hooks)
    return "; write [hooks.NAME] with this as its command, and NAME here"


def _used_hooks(rule: Rule, place: Place) -> Iterator[tuple[str, Place]]:
    for name, key in STEPS.items():
        for number, hook in enumerate(rule.hooks.get(Step(key.field), ())):
            yield hook, place.key(name).below(number)
    if rule.ready is not None:
        yield rule.ready, place.key("ready")
