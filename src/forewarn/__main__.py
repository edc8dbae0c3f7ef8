"""Entry point of `python -m forewarn` and of the `forewarn` command."""

import sys

from forewarn import cli


def main() -> None:
    """Run the command line and exit with its exit code."""
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
