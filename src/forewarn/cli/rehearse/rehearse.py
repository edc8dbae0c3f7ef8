"""`forewarn rehearse`: play a scenario against a program and print the verdict."""

import argparse
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from forewarn.cli.extras import server_extra
from forewarn.cli.options import JSON, Option, Subcommands, add_command
from forewarn.cli.output import paragraph, table, write, write_json
from forewarn.cli.rehearse.lint import IGNORE, lint
from forewarn.cli.rehearse.terminal import (
    open_result_file,
    prepare_process,
    screen_of,
    write_lines,
    write_part,
)
from forewarn.cli.values import read_duration, read_number
from forewarn.errors import WrongUsage

if TYPE_CHECKING:
    from forewarn.testing.scenario.results import ScenarioResult

_DESCRIPTION = """\
Start a service of its own, run COMMAND with $FOREWARN_ENDPOINT set to it, play
a scenario to it as fast as it allows, and say whether it did what is expected.
SCENARIO is a file, or the name of one that comes with forewarn (--list). Exit
code 0: it did; 1: it did not, or could not be played; 2: wrong usage."""

_MODES = ("check", "list", "show", "schema", "lint")

_OPTIONS = (
    Option(
        flag="--check",
        metavar="FILE",
        repeated=True,
        help="say whether these scenario files can be played, and play nothing",
    ),
    Option(flag="--list", switch=True, help="list the scenarios that come along"),
    Option(
        flag="--show",
        metavar="NAME",
        help="print a scenario that comes along, to begin one's own with",
    ),
    Option(
        flag="--schema",
        switch=True,
        help="print the JSON Schema of scenario files, for editors",
    ),
    Option(
        flag="--lint",
        switch=True,
        help="play nothing in particular: report what would hurt on Azure",
    ),
    Option(flag="--strict", switch=True, help="with --lint, let warnings fail it"),
    IGNORE,
    Option(
        flag="--seed",
        metavar="NUMBER",
        read=read_number,
        help="make the same ids and faults every time",
    ),
    Option(flag="--junit", metavar="FILE", help="write the verdict as JUnit's XML"),
    Option(
        flag="--transcript",
        metavar="FILE",
        help="write every fact but what was seen as a line of JSON, without real"
        " times: with the same --seed it is the same, byte for byte",
    ),
    Option(
        flag="--output",
        metavar="FILE",
        help="write what the program writes here; its end is shown if it fails",
    ),
    Option(
        flag="--metadata",
        metavar="HOST:PORT",
        default="127.0.0.1:0",
        help="where the program asks; port 0: any free one",
    ),
    Option(
        flag="--timeout",
        metavar="DURATION",
        read=read_duration,
        default=300,
        help="how many seconds, or such as 5m, all of it may take at the most; with"
        " --lint never more than 90",
    ),
    Option(flag="--quiet", switch=True, help="show the verdict alone, no progress"),
)


def register(subcommands: Subcommands) -> None:
    """Add `rehearse`."""
    parser = add_command(
        subcommands,
        "rehearse",
        _rehearse,
        summary="test how a program takes a reboot, and other scenarios",
        description=_DESCRIPTION,
        example="forewarn rehearse user-reboot -- python3 handler.py",
        options=_OPTIONS,
        common=(JSON,),
    )
    parser.usage = "forewarn rehearse [options] [SCENARIO] [-- COMMAND...]"
    parser.add_argument(
        "scenario", nargs="?", metavar="SCENARIO", help="a file, or a name of --list"
    )


def _rehearse(args: argparse.Namespace) -> int:
    modes = [mode for mode in _MODES if getattr(args, mode)]
    if len(modes) > 1:
        names = " and ".join(f"--{mode}" for mode in modes)
        raise WrongUsage(f"{names} exclude each other; give one of them")
    if modes and (args.scenario or (args.program and modes != ["lint"])):
        raise WrongUsage(f"--{modes[0]} plays no scenario; leave it away")
    if modes and modes != ["lint"]:
        return _show_scenarios(args)
    if not args.program:
        raise WrongUsage(
            "say which program to run: forewarn rehearse SCENARIO -- COMMAND..."
        )
    if args.lint:
        return lint(args)
    if args.scenario is None:
        raise WrongUsage(
            "say which scenario to play; `forewarn rehearse --list` names some"
        )
    return _play(args)


def _show_scenarios(args: argparse.Namespace) -> int:
    with server_extra("a rehearsal"):  # the zipapp has only the in-VM parts
        import forewarn.cli.rehearse.scenarios as scenarios
    if args.check:
        return scenarios.check(args.check, as_json=bool(args.json))
    if args.list:
        return scenarios.list_bundled(as_json=bool(args.json))
    if args.schema:
        return scenarios.show_schema()
    return scenarios.show(args.show)


def _play(args: argparse.Namespace) -> int:
    with server_extra("a rehearsal"):
        from forewarn.testing.scenario.parser import load_scenario
        from forewarn.testing.scenario.player import ScenarioRun, play
        from forewarn.testing.scenario.results import as_junit
    scenario = load_scenario(args.scenario)
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
    write(table(results.HEADER, [results.row(result) for result in played.results]))
    write("")
    for reason in results.reasons(played):
        write(paragraph(reason, indent=2))
    if not played.has_passed:
        write_part("what happened", played.timeline)
        write_part("the program wrote, last", played.output.splitlines()[-20:])
    write(results.summary(played))
