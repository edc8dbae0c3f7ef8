"""Drivers by name: built-in and installed ones."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from forewarn.drivers.registry import (
    DriverChoice,
    NothingDriver,
    OperatorDriver,
    driver_names,
    make_driver,
    open_driver,
)
from forewarn.drivers.script import ScriptDriver
from forewarn.errors import CannotStart
from forewarn.ports import Driver

MODULE = """\
class Shelf:
    def __init__(self, *, path, size=1):
        self.told = (path, size)
        self.steps = []

    def open(self):
        self.steps.append("open")

    def close(self):
        self.steps.append("close")

    def carry_out(self, work):
        return []

class Jammed(Shelf):
    def close(self):
        raise ConnectionError("it is jammed")

class Dull:
    pass

class Locked(Shelf):
    def open(self):
        raise ConnectionError("nobody\\nthere")
"""

ENTRY_POINTS = """\
[forewarn.drivers]
shelf = shelf_driver:Shelf
dull = shelf_driver:Dull
jammed = shelf_driver:Jammed
locked = shelf_driver:Locked
lost = no_such_module:Driver
mistaken = shelf_driver:NoSuchClass
leaving = sys:exit
script = shelf_driver:Shelf
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that offers drivers."""
    (tmp_path / "shelf_driver.py").write_text(MODULE)
    info = tmp_path / "shelf-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelf\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def refusal(name: str, **options: object) -> str:
    with pytest.raises(CannotStart) as refused:
        make_driver(DriverChoice(name=name, options=options))
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_built_in_drivers_exist() -> None:
    assert isinstance(make_driver(DriverChoice(name="nothing")), NothingDriver)
    assert isinstance(make_driver(DriverChoice(name="operator")), OperatorDriver)
    script = make_driver(DriverChoice(name="script", command=["sh"]))
    assert isinstance(script, ScriptDriver)


def test_installed_drivers_are_named_after_built_in_ones() -> None:
    known_names = driver_names()
    assert [*known_names[:3]] == ["nothing", "operator", "script"]
    assert "shelf" in known_names[3:]
    assert known_names.count("script") == 1


def test_installed_driver_is_created_with_its_options() -> None:
    driver = make_driver(DriverChoice(name="shelf", options={"path": "/x", "size": 3}))
    assert getattr(driver, "told", None) == ("/x", 3)


def test_installed_driver_cannot_replace_a_built_in_one() -> None:
    driver = make_driver(DriverChoice(name="script", command=["sh"]))
    assert isinstance(driver, ScriptDriver)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("shelf", "path"),
        ("lost", "no_such_module"),
        ("mistaken", "NoSuchClass"),
        ("leaving", "SystemExit"),
        ("dull", "carry_out"),
        ("unheard-of", "there are nothing, operator, script, dull"),
    ],
)
def test_unusable_driver_is_refused_with_a_message(name: str, words: str) -> None:
    message = refusal(name)
    assert words in message
    assert name in message


def test_unknown_option_of_a_driver_is_refused() -> None:
    assert "colour" in refusal("shelf", path="/x", colour="red")


@pytest.mark.parametrize("name", ["nothing", "operator", "script"])
def test_built_in_drivers_take_no_options(name: str) -> None:
    assert "takes no [driver.options]" in refusal(name, size=3)


def test_a_script_needs_a_command() -> None:
    assert "--driver-command" in refusal("script")


def test_a_driver_is_opened_and_closed() -> None:
    driver = make_driver(DriverChoice(name="shelf", options={"path": "/x"}))
    with ExitStack() as cleanup:
        open_driver(driver, cleanup)
        assert getattr(driver, "steps", None) == ["open"]
    assert getattr(driver, "steps", None) == ["open", "close"]


def test_driver_that_cannot_be_opened_is_refused_with_a_message() -> None:
    driver = make_driver(DriverChoice(name="locked", options={"path": "/x"}))
    with ExitStack() as cleanup, pytest.raises(CannotStart) as refused:
        open_driver(driver, cleanup)
    assert str(refused.value).endswith("ConnectionError: nobody there")


def test_driver_that_cannot_be_closed_does_not_stop_the_shutdown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with ExitStack() as cleanup:
        driver = make_driver(DriverChoice(name="jammed", options={"path": "/x"}))
        open_driver(driver, cleanup)
    assert "it is jammed" in caplog.text


def test_driver_without_open_is_accepted() -> None:
    driver: Driver = NothingDriver()
    with ExitStack() as cleanup:
        open_driver(driver, cleanup)
