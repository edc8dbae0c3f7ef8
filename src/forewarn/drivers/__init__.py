"""What acts on real VMs."""

from collections.abc import Mapping

from forewarn.drivers.nothing import NothingDriver
from forewarn.drivers.operator import OperatorDriver
from forewarn.ports import Driver

DRIVERS: Mapping[str, type[Driver]] = {
    "nothing": NothingDriver,
    "operator": OperatorDriver,
}
