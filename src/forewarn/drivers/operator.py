"""The driver that leaves the work to a person."""

from collections.abc import Sequence

from forewarn.ports import Report, Work


class OperatorDriver:
    """The work stays open until somebody says `complete`."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report nothing; a person does the work."""
        del work
        return []
