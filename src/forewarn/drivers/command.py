"""Check whether a command can be run."""

import os
import shutil
from collections.abc import Sequence


def trouble(command: Sequence[str]) -> str | None:
    """Return why `command` cannot be run; None if no problem is visible."""
    if not command or not command[0]:
        return "it is empty"
    name = command[0]
    if "\0" in "".join(command):
        return "no command has a zero character in it"
    if os.sep not in name:
        return None if shutil.which(name) else f"{name} is not in $PATH"
    return _trouble_of_file(name)


def _trouble_of_file(path: str) -> str | None:
    if os.path.isdir(path):
        return f"{path} is a directory"
    if not os.path.exists(path):
        return f"{path} does not exist"
    if not os.access(path, os.X_OK):
        return f"{path} is not executable; `chmod +x` makes it so"
    interpreter = _interpreter(path)
    if interpreter and not os.path.exists(interpreter):
        return f"{path} wants the interpreter {interpreter!r}, which does not exist"
    return None


def _interpreter(path: str) -> str | None:
    """Return the interpreter in the script's first line; None if there is none."""
    try:
        with open(path, "rb") as file:
            first = file.read(256).partition(b"\n")[0]
    except OSError:  # an executable need not be readable
        return None
    if not first.startswith(b"#!"):
        return None
    words = [word for word in first[2:].split(b" ") if word]
    return os.fsdecode(words[0]) if words else None
