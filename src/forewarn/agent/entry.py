"""Calls a function of Python's as a hook, in a process of its own.

The function gets the event as it was received. None or True means that all is well;
anything else is a failure, and so is an exception. SystemExit is the exit code.
"""

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

_CHECK = "--check"


def main(arguments: Sequence[str]) -> None:
    """Call what `arguments` name, `module:function`; with --check, only find it."""
    target = arguments[-1]
    function = find(target)
    if arguments[0] == _CHECK:
        return
    answer = function(json.loads(sys.stdin.buffer.read()))
    if answer is not None and answer is not True:
        sys.exit(f"{target} returned {answer!r:.200}; None or True means success")


def find(target: str) -> Callable[[object], object]:
    """Import what `module:function` names; a function may be within a class."""
    module, _, path = target.partition(":")
    found: object = import_module(module)
    for name in path.split("."):
        found = getattr(found, name)
    if not callable(found):
        raise TypeError(f"{target} is not a function")
    return found
