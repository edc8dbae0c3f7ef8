"""Secrets of targets, fetched from where they are kept."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from forewarn.core.fleet import key
from forewarn.errors import InvalidInput
from forewarn.notifiers.targets import Target


def complete(
    targets: Iterable[Target], environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """Give `targets` their secrets; refuse two of one name."""
    made = tuple(_with_secrets(each, environment) for each in targets)
    names = [key(each.name) for each in made]
    for each in made:
        if names.count(key(each.name)) > 1:
            raise InvalidInput(f"two targets are called {each.name}; name them apart")
    return made


def _with_secrets(target: Target, environment: Mapping[str, str]) -> Target:
    found: Sequence[str] = [
        *target.secrets,
        *(_in_file(target, each) for each in target.secret_files),
        *(_in_variable(target, each, environment) for each in target.secret_variables),
    ]
    if not all(map(_is_text, found)):
        raise InvalidInput(f"a secret of {target.name} is not text")
    return replace(target, secrets=tuple(dict.fromkeys(found)))


def _is_text(secret: str) -> bool:
    """Whether it can be signed with; bytes in a variable need not be UTF-8."""
    try:
        secret.encode()
    except UnicodeEncodeError:
        return False
    return True


def _in_file(target: Target, name: str) -> str:
    try:
        found = Path(name).read_text().strip()
    except OSError as error:
        raise InvalidInput(
            f"the secret of {target.name} in {name} cannot be read: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the secret of {target.name} in {name} is not text"
        ) from error
    if not found:
        raise InvalidInput(f"the secret of {target.name} is missing: {name} is empty")
    return found


def _in_variable(target: Target, name: str, environment: Mapping[str, str]) -> str:
    found = environment.get(name, "").strip()
    if not found:
        raise InvalidInput(f"the secret of {target.name} is missing: set ${name}")
    return found
