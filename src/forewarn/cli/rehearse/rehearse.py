"""`forewarn rehearse`: play a scenario with a program and print the verdict."""

import argparse
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from forewarn.cli.options import (
    JSON,
    Option,
    Subcommands,
    add_argument,
    add_command,
)
from forewarn.cli.output import Style, Styled, paragraph, table, write, write_json
from forewarn.cli.rehearse.lint import LINT_OPTIONS, VERBOSE, lint
from forewarn.cli.rehearse.terminal import (
    open_result_file,
    prepare_process,
    screen_of,
    write_lines,
    write_part,
)
from forewarn.cli.values import read_duration, read_number
from forewarn.errors import WrongUsage
from forewarn.extras import required_extra

if TYPE_CHECKING:
    from forewarn.testing.scenario.results import ScenarioResult, StepResult

_DESCRIPTION = """\
Test how a program handles a scenario, such as a reboot. This command starts a
private service, runs COMMAND with $FOREWARN_ENDPOINT set to the service's
address, plays the scenario as fast as the program allows, and checks that the
program behaves as expected.

The exit code is 0 if the program passes, 1 if it fails or cannot be tested, and
2 after a usage error."""

_MODES = ("check", "list", "show", "schema", "lint")
_ONLY_WITH_LINT = tuple(option.flag for option in (*LINT_OPTIONS, VERBOSE))
_NOT_WITH_LINT = ("--seed", "--transcript")
_PUT_AFTER_DASHES = "Put the program to run after `--`"

#: Styles of verdicts on steps.
_STYLES: Mapping[str, Style] = {
    "passed": "green",
    "failed": "red",
    "not reached": "dim",
}

_OPTIONS = (
    Option(
        flag="--check",
        switch=True,
        help="check one or more scenarios without playing them",
    ),
    Option(flag="--list", switch=True, help="list the bundled scenarios"),
    Option(
        flag="--show",
        metavar="NAME",
        help="print a bundled scenario as a starting point for your own",
        names="scenarios",
    ),
    Option(
        flag="--schema",
        switch=True,
        help="print the JSON Schema for scenario files, for use in an editor",
    ),
    Option(
        flag="--lint",
        switch=True,
        help="lint the program: report behavior that causes problems on Azure",
    ),
    *LINT_OPTIONS,
    Option(
        flag="--seed",
        metavar="NUMBER",
        read=read_number,
        help="make IDs and faults reproducible",
        shown_default="random",
    ),
    Option(
        flag="--junit", metavar="FILE", help="write the results to a JUnit XML file"
    ),
    Option(
        flag="--transcript",
        metavar="FILE",
        help="write the journal to a file as lines of JSON, without real times and"
        " without what VMs saw; runs with the same --seed write identical files",
    ),
    Option(
        flag="--output",
        metavar="FILE",
        help="write the program's output to a file; if the program fails, the end of"
        " the output is also printed",
    ),
    Option(
        flag="--metadata",
        metavar="HOST:PORT",
        default="127.0.0.1:0",
        help="address of the metadata service; port 0 selects a free port",
    ),
    Option(
        flag="--timeout",
        metavar="DURATION",
        read=read_duration,
        default=300,
        help="time limit; 5s to 90s with --lint",
        shown_default="5m",
    ),
    (
        Option(
            flag="--quiet",
            switch=True,
            help="do not show progress; with --lint, show only problems and the result",
        ),
        VERBOSE,
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `rehearse`."""
    parser = add_command(
        subcommands,
        "rehearse",
        _rehearse,
        summary="test how a program handles a reboot and other scenarios",
        description=_DESCRIPTION,
        example="forewarn rehearse user-reboot -- python3 handler.py",
        options=_OPTIONS,
        common=(JSON,),
    )
    parser.usage = "forewarn rehearse [options] [SCENARIO] [-- COMMAND...]"
    add_argument(
        parser,
        "scenarios",
        nargs="*",
        metavar="SCENARIO",
        help="scenario file, or the name of a bundled scenario",
        names="scenarios files",
    )


def _rehearse(args: argparse.Namespace) -> int:
    modes = [mode for mode in _MODES if getattr(args, mode)]
    if len(modes) > 1:
        names = " and ".join(f"--{mode}" for mode in modes)
        raise WrongUsage(f"{names} cannot be used together")
    _refuse_unused_options(args)
    if modes == ["check"] and not args.scenarios:
        raise WrongUsage("no scenario to check; usage: forewarn rehearse --check FILE")
    if modes == ["lint"]:
        return _lint(args)
    if modes and (args.program or (args.scenarios and modes != ["check"])):
        raise WrongUsage(
            f"--{modes[0]} does not play a scenario; omit the scenario and the program"
        )
    return _show_scenarios(args) if modes else _play(args)


def _lint(args: argparse.Namespace) -> int:
    if args.scenarios:
        raise WrongUsage(
            f"unexpected argument {args.scenarios[0]!r}: --lint does not play a"
            f" scenario. {_PUT_AFTER_DASHES}"
        )
    if not args.program:
        raise WrongUsage(
            "no program to run; usage: forewarn rehearse --lint -- COMMAND..."
        )
    return lint(args)


def _refuse_unused_options(args: argparse.Namespace) -> None:
    for flag in _NOT_WITH_LINT if args.lint else _ONLY_WITH_LINT:
        if flag.removeprefix("--") in args.typed:
            does_not_fit = "cannot be used with" if args.lint else "requires"
            raise WrongUsage(f"{flag} {does_not_fit} --lint")


def _show_scenarios(args: argparse.Namespace) -> int:
    with required_extra(
        "server", "`forewarn rehearse`"
    ):  # the zipapp contains only the in-VM parts
        import forewarn.cli.rehearse.scenarios as scenarios
    if args.check:
        return scenarios.check(args.scenarios, as_json=bool(args.json))
    if args.list:
        return scenarios.list_bundled(as_json=bool(args.json))
    if args.schema:
        return scenarios.show_schema()
    return scenarios.show(args.show)


def _play(args: argparse.Namespace) -> int:
    if len(args.scenarios) > 1:
        raise WrongUsage(
            f"unexpected argument {args.scenarios[1]!r}: only one scenario is played."
            f" {_PUT_AFTER_DASHES}"
        )
    if not args.program:
        raise WrongUsage(
            "no program to run; usage: forewarn rehearse SCENARIO -- COMMAND..."
        )
    if not args.scenarios:
        raise WrongUsage(
            "no scenario to play; to list the bundled scenarios, run"
            " `forewarn rehearse --list`"
        )
    with required_extra("server", "`forewarn rehearse`"):
        from forewarn.testing.scenario.parser import load_scenario
        from forewarn.testing.scenario.player import ScenarioRun, play
        from forewarn.testing.scenario.results import as_junit
    scenario = load_scenario(args.scenarios[0])
    run = ScenarioRun(
        command=args.program,
        seed=args.seed,
        metadata=args.metadata,
        timeout=float(args.timeout),
        output=args.output,
    )
    with ExitStack() as cleanup:
        junit = open_result_file(args.junit, cleanup)  # first, to fail early
        transcript = open_result_file(args.transcript, cleanup)
        prepare_process()
        screen = screen_of(args, len(scenario.steps))
        with closing(screen):
            played = play(scenario, run, screen)
        try:
            write_lines(junit, [as_junit(played)])
            write_lines(transcript, (f"{line}\n" for line in played.transcript))
        finally:  # show the verdict even if the disk is full
            _write_result(played, as_json=bool(args.json))
    return 0 if played.has_passed else 1


def _write_result(played: "ScenarioResult", *, as_json: bool) -> None:
    from forewarn.testing.scenario import results

    if as_json:
        write_json(results.as_json(played))
        return
    write(f"{played.scenario.name}: {played.scenario.title}")
    write(table(results.HEADER, [_row(result) for result in played.results]))
    write("")
    if not played.has_passed:
        for reason in results.reasons(played):
            write(paragraph(reason, indent=2))
        write("")
        write_part("what happened", played.timeline)
        write_part("the program's last output", played.output.splitlines()[-20:])
    write(Styled(results.summary(played), "green" if played.has_passed else "red"))


def _row(result: "StepResult") -> Sequence[str]:
    from forewarn.testing.scenario import results

    number, what, verdict, took = results.row(result)
    style = _STYLES.get(result.verdict)
    return (number, what, Styled(verdict, style) if style else verdict, took)
