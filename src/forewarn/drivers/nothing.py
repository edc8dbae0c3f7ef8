"""The driver that touches nothing: all work is done at once."""

from collections.abc import Sequence

from forewarn.ports import Report, Work


class NothingDriver:
    """For rehearsals, and for fleets whose machines are handled elsewhere."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report everything done."""
        return [Report(vm=vm.name) for vm in work.vms]
