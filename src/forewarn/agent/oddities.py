"""Configuration warnings: valid settings that are probably mistakes."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from forewarn.agent.complaints import Place
from forewarn.agent.matching import taken_before
from forewarn.agent.plan import Approve, Plan, Rule, Step, Together
from forewarn.protocol.versions import VERSIONS


def warn_of_oddities(plan: Plan, top: Place, *, of_file: int) -> None:
    """Add all warnings; the first `of_file` rules are in the file itself."""
    for number, rule in enumerate(plan.rules):
        is_written = number < of_file
        place = top.below("rules").below(number) if is_written else top.below("scripts")
        for warning in (*_late(plan, number, rule), *_untold(plan, rule), *_odd(rule)):
            place.warn(f'rule "{rule.name}" {warning}')
    used = {name for rule in plan.rules for name in hooks_of(rule)}
    for name in plan.hooks:
        if name not in used:
            top.below("hooks").below(name).warn(f'no rule uses the hook "{name}"')
    if plan.blind_after < 2 * plan.poll:
        top.below("poll_seconds").warn(
            f"a document is read every {plan.poll:g} s, and after"
            f" {plan.blind_after:g} s without one there is an alarm; that will come"
            " and go"
        )


def hooks_of(rule: Rule) -> Iterator[str]:
    """Yield the name of every hook of a rule."""
    for names in rule.hooks.values():
        yield from names
    if rule.ready is not None:
        yield rule.ready


def _late(plan: Plan, number: int, rule: Rule) -> Iterator[str]:
    takers = taken_before(plan.rules[:number], rule)
    if takers:
        names = " and ".join(f'"{name}"' for name in takers)
        yield f"never matches, as {names} before it takes all that it could match"


def _untold(plan: Plan, rule: Rule) -> Iterator[str]:
    """Warn of conditions on fields that the api-version does not have."""
    version = VERSIONS[plan.api_version]
    takes_none = rule.description is None or fnmatchcase("", rule.description)
    conditions = (
        ("sources", rule.sources is not None and not version.source),
        ("duration_seconds", rule.duration is not None and not version.duration),
        ("description", not takes_none and not version.description),
    )
    for key, is_untold in conditions:
        if is_untold:
            yield (
                f"asks for {key}, which api_version {version.name} does not tell, so"
                " it never matches"
            )
    hidden = sorted((rule.types or frozenset()) - version.types)
    if hidden:
        yield f"is for {', '.join(hidden)}, which {version.name} does not show"


def _odd(rule: Rule) -> Iterator[str]:
    prepares = Step.PREPARE in rule.hooks
    if rule.approve is Approve.AFTER_HOOKS and not prepares:
        yield (
            "has no hooks in prepare, so it approves as soon as the event is seen;"
            ' write approve = "at-once" if that is meant, else "never"'
        )
    if rule.ready is not None and rule.together is not Together.WHEN_READY:
        yield 'has a hook `ready`, which is asked only if together = "when-ready"'
