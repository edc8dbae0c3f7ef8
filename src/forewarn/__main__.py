"""Entry point for `python -m forewarn` and for the `forewarn` command."""

import sys

from forewarn.cli.main import main as run


def main() -> None:
    """Run the command line and exit with its exit code."""
    sys.exit(run())


if __name__ == "__main__":
    main()
