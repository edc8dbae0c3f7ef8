"""`python -m forewarn`, and the command `forewarn`."""

import sys

from forewarn import cli


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
