"""Driver that leaves the work to a person."""

from collections.abc import Sequence

from forewarn.ports import Report, Work


class OperatorDriver:
    """Leaves the work open until someone runs `complete`."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report nothing; a person does the work."""
        del work
        return []
