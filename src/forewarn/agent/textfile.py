"""Metrics file for a collector that reads files (textfile collector).

A reader always sees one consistent moment: the file is written under another name and
then renamed.
"""

import os
from pathlib import Path

from forewarn.agent.logs import Conditions
from forewarn.agent.metrics import Metrics

#: Seconds between two writes if nothing happens.
EVERY = 15.0

_CONDITION = "textfile-unwritable"


class Textfile:
    """One metrics file that is kept current."""

    def __init__(self, path: Path, metrics: Metrics, conditions: Conditions) -> None:
        """Write `metrics` to `path`; report failures to `conditions`."""
        self._path = path
        # Collectors only read names that end with `.prom`.
        self._beside = path.with_name(f".{path.name}.new")
        self._metrics = metrics
        self._conditions = conditions
        self._due = 0.0  # on the monotonic clock
        self._told = 0  # number of condition changes already written

    def due(self, monotonic: float) -> float:
        """Return the seconds until the file is due."""
        return max(self._due - monotonic, 0.0)

    def write(self, monotonic: float, *, is_news: bool = False) -> bool:
        """Write the file if it is due or something changed; return False on failure.

        A condition that begins or ends always counts as a change. A failure is logged
        once and retried when the file is next due.
        """
        is_news = is_news or self._conditions.news != self._told
        if not is_news and monotonic < self._due:
            return True
        self._due = monotonic + EVERY
        is_good = self._try()
        self._told = self._conditions.news
        return is_good

    def _try(self) -> bool:
        try:
            self._replace(self._metrics.render().encode())
        except OSError as error:
            sentence = f"{self._path} cannot be written: {error.strerror or error}"
            self._conditions.say(_CONDITION, True, sentence, kind=str(error.errno))
            return False
        self._conditions.say(_CONDITION, False, f"{self._path} is written again")
        return True

    def _replace(self, text: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        number = os.open(self._beside, flags, 0o644)
        with open(number, "wb") as file:
            os.fchmod(number, 0o644)  # despite the umask; a collector is another user
            file.write(text)
        self._beside.replace(self._path)
