"""Optional dependencies: the command that installs those that a feature lacks.

The command works for the way in which forewarn is installed: from a package index, a
checkout or a file. The zipapp is not installed, so no command can extend it.
"""

import json
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote, urlsplit

from forewarn.errors import CannotStart


@contextmanager
def required_extra(extra: str, what: str) -> Iterator[None]:
    """Raise `CannotStart` with the remedy if the block cannot import a module.

    `what` is the subject of the error message, for example "`forewarn serve`".
    """
    try:
        yield
    except ImportError as error:
        is_missing = isinstance(error, ModuleNotFoundError)
        if not is_missing and (error.name or "").startswith("forewarn"):
            raise  # an error in forewarn itself
        raise CannotStart(
            f"{what} requires the {extra} extra (module {error.name or 'libpq'} not"
            f" found); {install_hint(extra)}"
        ) from error


def install_hint(extra: str) -> str:
    """Return how to install an extra, as the end of a sentence."""
    # Imported late: 20 ms, and needed only for an error message.
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        source = distribution("forewarn").read_text("direct_url.json")
    except PackageNotFoundError:
        return (
            "this copy of forewarn is not an installed package; install the package"
            f" with its {extra} extra"
        )
    command = install_command(extra, json.loads(source) if source else {})
    return f"to install it, run: {shlex.quote(sys.executable)} -m pip install {command}"


def install_command(extra: str, source: dict[str, object]) -> str:
    """Return pip's arguments; `source` is the content of `direct_url.json`, if any."""
    url = urlsplit(str(source.get("url", "")))
    if url.scheme != "file":
        return f"'forewarn[{extra}]'"
    folder = source.get("dir_info")
    is_editable = isinstance(folder, dict) and bool(folder.get("editable"))
    package = shlex.quote(f"{unquote(url.path)}[{extra}]")
    return f"--editable {package}" if is_editable else package
