"""Drivers by name: the built-in ones, and those of installed packages."""

import pytest

from forewarn.drivers.registry import (
    DRIVERS,
    DriverChoice,
    NothingDriver,
    OperatorDriver,
    make_driver,
)
from forewarn.drivers.script import ScriptDriver
from forewarn.errors import CannotStart


def refusal(name: str, **options: object) -> str:
    with pytest.raises(CannotStart) as refused:
        make_driver(DriverChoice(name=name, options=options))
    return str(refused.value)


def test_built_in_drivers_exist() -> None:
    assert isinstance(make_driver(DriverChoice(name="nothing")), NothingDriver)
    assert isinstance(make_driver(DriverChoice(name="operator")), OperatorDriver)
    script = make_driver(DriverChoice(name="script", command=["sh"]))
    assert isinstance(script, ScriptDriver)
    assert [*DRIVERS.ours] == ["nothing", "operator", "script"]


def test_other_names_are_those_of_installed_drivers() -> None:
    message = refusal("unheard-of", size=3)
    assert message.startswith("unknown driver 'unheard-of'; expected one of: nothing, ")
    assert (DRIVERS.group, DRIVERS.method) == ("forewarn.drivers", "carry_out")


@pytest.mark.parametrize("name", ["nothing", "operator", "script"])
def test_built_in_drivers_take_no_options(name: str) -> None:
    assert "does not accept [driver.options]" in refusal(name, size=3)


def test_a_script_needs_a_command() -> None:
    assert "--driver-command" in refusal("script")
