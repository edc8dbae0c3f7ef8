"""Reader of a script's output: reports, and everything else.

Uses only the standard library, like everything in the supervisor process.
"""

import json
from collections.abc import Iterable, Iterator

MOST_OUTPUT = 64 * 1024  # bytes; the last ones are kept
LONGEST_LINE = 64 * 1024  # bytes; a longer line is not a report
LONGEST_DETAIL = 1000  # characters

_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


class Ear:
    """Separates reports from other output, and keeps the end of the latter."""

    def __init__(self, vms: Iterable[str]) -> None:
        """Accept reports about `vms`."""
        self._names = {name.lower(): name for name in vms}
        self._told: set[tuple[str, bool]] = set()  # VM, whether it failed
        self._rest = b""  # an incomplete line
        self._is_long = False  # whether that line is too long for a report
        self._kept = bytearray()

    @property
    def output(self) -> str:
        """The end of the output other than reports, as text."""
        return clean(bytes(self._kept[-MOST_OUTPUT:]).decode(errors="replace"))

    def hear(self, data: bytes) -> Iterator[dict[str, object]]:
        """Process data from stdout, and yield the reports in it."""
        block = self._rest + data
        end = block.rfind(b"\n") + 1
        whole, self._rest = block[:end], block[end:]
        if whole and self._is_long:
            start = whole.index(b"\n") + 1
            self.overhear(whole[:start])
            whole, self._is_long = whole[start:], False
        if b"{" in whole:
            yield from self._lines(whole)
        else:
            self.overhear(whole)
        if len(self._rest) > LONGEST_LINE:
            self.overhear(self._rest)
            self._rest, self._is_long = b"", True

    def overhear(self, data: bytes) -> None:
        """Keep data that is not a report."""
        self._kept += data
        if len(self._kept) > 2 * MOST_OUTPUT:
            del self._kept[:-MOST_OUTPUT]

    def end(self) -> Iterator[dict[str, object]]:
        """Process the last line, which may lack a line break."""
        if self._rest:
            yield from self.hear(b"\n")

    def _lines(self, whole: bytes) -> Iterator[dict[str, object]]:
        for line in whole[:-1].split(b"\n"):
            report = self._report(line.strip())
            if report is None:
                self.overhear(line + b"\n")
            else:
                yield report

    def _report(self, line: bytes) -> dict[str, object] | None:
        """Parse a report; None if it is not one, or repeats an earlier one."""
        if not (line[:1] == b"{" and line[-1:] == b"}" and len(line) <= LONGEST_LINE):
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        vm, status, detail = (
            message.get("vm"),
            message.get("status"),
            message.get("detail"),
        )
        name = self._names.get(vm.lower()) if isinstance(vm, str) else None
        if name is None or status not in ("done", "failed"):
            return None
        failed = status == "failed"
        if {(name, False), (name, failed)} & self._told:
            return None
        self._told.add((name, failed))
        text = "" if detail is None else clean(str(detail)).strip()
        return {"vm": name, "failed": failed, "detail": text[:LONGEST_DETAIL]}


def clean(text: str) -> str:
    """Remove what would harm a terminal or a database."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return lines.encode(errors="replace").decode()
