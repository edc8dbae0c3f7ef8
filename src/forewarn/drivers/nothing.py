"""Driver that does nothing and reports all work done."""

from collections.abc import Sequence

from forewarn.ports import Report, Work


class NothingDriver:
    """For rehearsals, and for fleets whose machines are handled elsewhere."""

    def carry_out(self, work: Work) -> Sequence[Report]:
        """Report all VMs done."""
        return [Report(vm=vm.name) for vm in work.vms]
