"""`forewarn rehearse --lint`: report behavior that causes problems on Azure."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from forewarn.cli.options import Option, did_you_mean
from forewarn.cli.output import Style, Styled, fields, paragraph, write, write_json
from forewarn.cli.rehearse.terminal import (
    ProgressScreen,
    open_result_file,
    prepare_process,
    screen_of,
    write_lines,
    write_part,
)
from forewarn.errors import WrongUsage
from forewarn.extras import required_extra

if TYPE_CHECKING:
    from forewarn.testing.lint.evidence import CoursePart
    from forewarn.testing.lint.runner import LintResult

#: Options that are only valid with --lint.
LINT_OPTIONS = (
    Option(
        flag="--strict", switch=True, help="treat warnings as errors; requires --lint"
    ),
    Option(
        flag="--ignore",
        metavar="RULE",
        repeated=True,
        help="ignore these rules; requires --lint",
    ),
)
VERBOSE = Option(
    flag="--verbose",
    switch=True,
    help="also list the rules without problems; requires --lint",
)

_SHORTEST = 5.0  # seconds; a program may need some time to start
_LONGEST = 90.0  # seconds; enough to show that a program polls too rarely
_LAST_LINES = 20

_STYLES: Mapping[str, Style] = {
    "error": "red",
    "warning": "yellow",
    "suggestion": "bold",
}


def lint(args: argparse.Namespace) -> int:
    """Lint the program on the command line; return 1 if it fails, otherwise 0."""
    with required_extra("server", "`forewarn rehearse`"):
        from forewarn.testing.lint import report, runner
        from forewarn.testing.lint.evidence import CoursePart
    ignored = _ignored(args)
    if args.timeout < _SHORTEST:
        raise WrongUsage(f"--timeout must be at least {_SHORTEST:g}s with --lint")
    trial = runner.LintTrial(
        command=args.program,
        metadata=args.metadata,
        timeout=min(float(args.timeout), _LONGEST),
        output=args.output,
        ignored=ignored,
    )
    is_strict = bool(args.strict)
    with ExitStack() as cleanup:
        junit = open_result_file(args.junit, cleanup)  # first, to fail early
        prepare_process()
        with closing(_Parts(screen_of(args, len(CoursePart)))) as parts:
            linted = runner.lint(trial, parts.begin)
        try:
            write_lines(junit, [report.as_junit(linted, is_strict=is_strict)])
        finally:  # show the findings even if the disk is full
            _write_result(linted, args)
    return 1 if runner.has_failed(linted.findings, is_strict=is_strict) else 0


def _ignored(args: argparse.Namespace) -> Sequence[str]:
    from forewarn.testing.lint.runner import RULES

    rule_ids, ignored = [rule.id for rule in RULES], args.ignore or ()
    for rule_id in ignored:
        if rule_id not in rule_ids:
            hint = did_you_mean(rule_id, rule_ids)
            raise WrongUsage(
                f"unknown rule {rule_id!r}"
                + (hint or f"; expected one of: {', '.join(rule_ids)}")
            )
    return tuple(ignored)


class _Parts:
    """Shows the current part of the lint run as a step on a `ProgressScreen`."""

    def __init__(self, screen: ProgressScreen) -> None:
        self._screen = screen
        self._number = 0
        self._what = ""

    def begin(self, part: "CoursePart") -> None:
        self._end()
        self._number += 1
        self._what = part.text
        self._screen.begin(self._number, self._what)

    def close(self) -> None:
        self._end()
        self._screen.close()

    def _end(self) -> None:
        from forewarn.testing.scenario.results import StepResult, StepVerdict

        if self._number:
            result = StepResult(
                number=self._number, what=self._what, verdict=StepVerdict.DONE
            )
            self._screen.end(result)


def _write_result(linted: "LintResult", args: argparse.Namespace) -> None:
    from forewarn.testing.lint import report, runner

    is_strict = bool(args.strict)
    if args.json:
        write_json(report.as_json(linted, is_strict=is_strict))
        return
    for finding in report.problems(linted):
        title = f"{finding.verdict}: {finding.rule.id}"
        write(Styled(title, _STYLES[finding.verdict]))
        write(fields(report.details(finding, linted.evidence)))
        write("")
    if linted.evidence.ending is not None and linted.output:
        write_part(
            "the program's last output", linted.output.splitlines()[-_LAST_LINES:]
        )
    if not args.quiet:
        _write_others(linted, is_verbose=bool(args.verbose))
    is_failed = runner.has_failed(linted.findings, is_strict=is_strict)
    text = paragraph(report.summary(linted, is_strict=is_strict), 2)
    write(Styled(text, "red" if is_failed else "green"))


def _write_others(linted: "LintResult", *, is_verbose: bool) -> None:
    """Print the rules without violations, or only how many there are."""
    from forewarn.testing.lint import report

    if not is_verbose:
        if numbers := report.count_others(linted):
            write(f"{numbers}; --verbose lists them")
        return
    for heading, findings in report.others(linted):
        write(f"{heading}:")
        write(fields((finding.rule.id, finding.saw) for finding in findings))
        write("")
