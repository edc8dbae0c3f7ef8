"""Secrets of notification targets, read from files and the environment."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from forewarn.core.fleet import key
from forewarn.errors import InvalidInput
from forewarn.notifiers.targets import Target


def complete(
    targets: Iterable[Target], environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """Add the secrets to `targets`; raise `InvalidInput` for duplicate names."""
    completed = tuple(_with_secrets(target, environment) for target in targets)
    names = [key(target.name) for target in completed]
    for target in completed:
        if names.count(key(target.name)) > 1:
            raise InvalidInput(f"two targets are called {target.name}; name them apart")
    return completed


def _with_secrets(target: Target, environment: Mapping[str, str]) -> Target:
    secrets: Sequence[str] = [
        *target.secrets,
        *(_in_file(target, name) for name in target.secret_files),
        *(_in_variable(target, name, environment) for name in target.secret_variables),
    ]
    if not all(map(_is_text, secrets)):
        raise InvalidInput(f"a secret of {target.name} is not text")
    return replace(target, secrets=tuple(dict.fromkeys(secrets)))


def _is_text(secret: str) -> bool:
    """Whether it can be encoded; environment variables need not be UTF-8."""
    try:
        secret.encode()
    except UnicodeEncodeError:
        return False
    return True


def _in_file(target: Target, name: str) -> str:
    try:
        secret = Path(name).read_text().strip()
    except OSError as error:
        raise InvalidInput(
            f"the secret of {target.name} in {name} cannot be read: {error.strerror}"
        ) from error
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"the secret of {target.name} in {name} is not text"
        ) from error
    if not secret:
        raise InvalidInput(f"the secret of {target.name} is missing: {name} is empty")
    return secret


def _in_variable(target: Target, name: str, environment: Mapping[str, str]) -> str:
    secret = environment.get(name, "").strip()
    if not secret:
        raise InvalidInput(f"the secret of {target.name} is missing: set ${name}")
    return secret
