"""Plug-ins: found, created, opened and closed; whatever they raise names them."""

from pathlib import Path

import pytest

from forewarn.errors import CannotStart, InvalidInput
from forewarn.plugins import PluginKind, close_plugin, open_plugin

SIRENS = PluginKind(
    noun="siren", group="forewarn.sirens", method="wail", ours=("bell", "horn")
)

MODULE = """\
class Siren:
    def __init__(self, *, path, size=1):
        self.arguments = (path, size)
        self.steps = []

    def open(self):
        self.steps.append("open")

    def close(self):
        self.steps.append("close")

    def wail(self):
        pass

class SilentSiren:
    pass

class ClosedSiren:
    def wail(self):
        pass

    def open(self):
        raise ConnectionError("no\\nanswer")

    def close(self):
        raise ConnectionError("cannot close")
"""

ENTRY_POINTS = """\
[forewarn.sirens]
Air-Raid = siren_plugin:Siren
silent = siren_plugin:SilentSiren
lost = no_such_module:Siren
mistaken = siren_plugin:NoSuchClass
leaving = sys:exit
bell = siren_plugin:Siren
closed = siren_plugin:ClosedSiren
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that offers sirens."""
    (tmp_path / "siren_plugin.py").write_text(MODULE)
    info = tmp_path / "siren-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: siren\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def test_built_in_names_come_first_and_once() -> None:
    assert SIRENS.names() == [
        *("bell", "horn"),
        *("Air-Raid", "closed", "leaving", "lost", "mistaken", "silent"),
    ]


def test_names_are_read_in_any_case() -> None:
    assert SIRENS.read_name("HORN") == "horn"
    assert SIRENS.read_name("air-raid") == "Air-Raid"


@pytest.mark.parametrize("value", ["whistle", "", 3, None])
def test_another_name_is_refused_with_all_names(value: object) -> None:
    with pytest.raises(InvalidInput, match=r'^expected one of "bell", "horn", "Air'):
        SIRENS.read_name(value)


def test_a_plugin_is_created_with_its_options() -> None:
    assert SIRENS.make("Air-Raid", {"path": "/x", "size": 3}).arguments == ("/x", 3)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Air-Raid", "path"),
        ("lost", "no_such_module"),
        ("mistaken", "NoSuchClass"),
        ("leaving", "SystemExit"),
        ("silent", "has no method wail"),
        ("whistle", "there are bell, horn, Air-Raid"),
    ],
)
def test_an_unusable_plugin_is_refused_in_one_line(name: str, words: str) -> None:
    with pytest.raises(CannotStart) as refused:
        SIRENS.make(name, {})
    assert words in str(refused.value)
    assert f"siren {name}" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(CannotStart, match="color"):
        SIRENS.make("Air-Raid", {"path": "/x", "color": "red"})


def test_a_plugin_is_opened_and_closed() -> None:
    siren = SIRENS.make("Air-Raid", {"path": "/x"})
    open_plugin(siren, "the siren")
    assert siren.steps == ["open"]
    close_plugin(siren, "the siren")
    assert siren.steps == ["open", "close"]


def test_a_plugin_without_open_and_close_is_accepted() -> None:
    open_plugin(object(), "the siren")
    close_plugin(object(), "the siren")


def test_a_plugin_that_cannot_be_opened_is_refused_in_one_line() -> None:
    with pytest.raises(CannotStart) as refused:
        open_plugin(SIRENS.make("closed", {}), "the siren")
    expected = "the siren cannot be opened: ConnectionError: no answer"
    assert str(refused.value) == expected


def test_a_plugin_that_cannot_be_closed_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    close_plugin(SIRENS.make("closed", {}), "the siren")
    assert "the siren cannot be closed" in caplog.text
    assert "ConnectionError: cannot close" in caplog.text
