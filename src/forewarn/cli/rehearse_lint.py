"""`forewarn rehearse --lint`: report behavior that causes trouble on Azure."""

import argparse
from collections.abc import Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from forewarn.cli.options import Option
from forewarn.cli.rehearse_means import (
    be_quiet,
    end_on_signals,
    needs_extra,
    open_for,
    put,
    screen_of,
)
from forewarn.cli.rehearse_progress import Screen
from forewarn.cli.tables import clean, paragraph, table, write, write_json
from forewarn.errors import WrongUsage

if TYPE_CHECKING:
    from forewarn.testing.evidence import Part
    from forewarn.testing.linting import Linted

#: An option only for --lint.
IGNORE = Option(
    flag="--ignore",
    metavar="RULE",
    repeated=True,
    help="with --lint, leave out what these rules say",
)

_LONGEST = 90.0  # seconds; enough to show that a program polls too rarely
_LAST_LINES = 20


def lint(args: argparse.Namespace, command: Sequence[str]) -> int:
    """Lint the program `command`; return 1 if it has failed, else 0."""
    try:
        from forewarn.testing import lint_reports, linting
        from forewarn.testing.evidence import Part
        from forewarn.testing.lint import has_failed
    except ModuleNotFoundError as error:
        raise needs_extra(error) from error
    ignored = _ignored(args)
    trial = linting.Trial(
        command=command,
        metadata=args.metadata,
        timeout=min(float(args.timeout), _LONGEST),
        output=args.output,
        ignored=ignored,
    )
    is_strict = bool(args.strict)
    with ExitStack() as cleanup:
        junit = open_for(args.junit, cleanup)  # first, to fail early
        be_quiet()
        end_on_signals()
        with closing(_Parts(screen_of(args, len(Part)))) as parts:
            linted = linting.lint(trial, parts)
        try:
            put(junit, [lint_reports.as_junit(linted, is_strict=is_strict)])
        finally:  # show the findings even if the disk is full
            _tell(linted, args)
    return 1 if has_failed(linted.findings, is_strict=is_strict) else 0


def _ignored(args: argparse.Namespace) -> Sequence[str]:
    from forewarn.testing.lint import RULES

    rule_ids, ignored = [rule.id for rule in RULES], args.ignore or ()
    for rule_id in ignored:
        if rule_id not in rule_ids:
            raise WrongUsage(
                f"there is no rule {rule_id}; there are {', '.join(rule_ids)}"
            )
    return tuple(ignored)


class _Parts:
    """Shows the part of the lint that is playing as a step on a `Screen`."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._number = 0
        self._what = ""

    def begin(self, part: "Part") -> None:
        from forewarn.testing.lint_reports import PARTS

        self._end()
        self._number += 1
        self._what = PARTS[part]
        self._screen.begin(self._number, self._what)

    def close(self) -> None:
        self._end()
        self._screen.close()

    def _end(self) -> None:
        from forewarn.testing.verdicts import Result, Verdict

        if self._number:
            result = Result(number=self._number, what=self._what, verdict=Verdict.DONE)
            self._screen.end(result)


def _tell(linted: "Linted", args: argparse.Namespace) -> None:
    from forewarn.testing import lint_reports

    is_strict = bool(args.strict)
    if args.json:
        write_json(lint_reports.as_json(linted, is_strict=is_strict))
        return
    if not args.quiet:
        write(table(lint_reports.HEADER, map(lint_reports.row, linted.findings)))
        write("")
    for title, hurts, remedy in lint_reports.reasons(linted):
        write(paragraph(title, 2))
        write(paragraph(f"  Why: {hurts}", 4))
        write(paragraph(f"  Do: {remedy}", 4))
        write("")
    if linted.evidence.ending is not None and linted.output:
        write("the program wrote, last:")
        for line in linted.output.splitlines()[-_LAST_LINES:]:
            write(f"  {clean(line)}")
        write("")
    write(paragraph(lint_reports.summary(linted, is_strict=is_strict), 0))
