"""Entry point for Python hooks: calls a function in its own process.

The function receives the event as the agent received it. Returning None or True means
success. Any other result or an exception means failure. SystemExit sets the exit code.
"""

import json
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

_CHECK = "--check"


def main(arguments: Sequence[str]) -> None:
    """Call the `module:function` in `arguments`; with --check, only import it."""
    target = arguments[-1]
    function = _import_function(target)
    if arguments[0] == _CHECK:
        return
    result = function(json.loads(sys.stdin.buffer.read()))
    if result is not None and result is not True:
        sys.exit(f"{target} returned {result!r:.200}; None or True means success")


def _import_function(target: str) -> Callable[[object], object]:
    """Import `module:function`; the function may be nested in a class."""
    module, _, path = target.partition(":")
    target_object: object = import_module(module)
    for name in path.split("."):
        target_object = getattr(target_object, name)
    if not callable(target_object):
        raise TypeError(f"{target} is not a function")
    return target_object
