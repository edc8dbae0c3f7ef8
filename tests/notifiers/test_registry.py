"""Notifiers by kind: built-in and installed ones."""

import re
from pathlib import Path

import pytest
from tests.notifiers.samples import SENT, a_notice

from forewarn.errors import CannotStart
from forewarn.notifiers.registry import (
    LogNotifier,
    close_notifier,
    make_notifier,
    notifier_names,
    open_notifier,
)
from forewarn.notifiers.targets import Target
from forewarn.notifiers.webhook import Webhook
from forewarn.ports import Notifier

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "receive-webhooks.md"

MODULE = """\
class Drum:
    def __init__(self, *, path, size=1):
        self.told = (path, size)
        self.steps = []

    def open(self):
        self.steps.append("open")

    def close(self):
        self.steps.append("close")

    def notify(self, notice):
        pass

class Jammed(Drum):
    def close(self):
        raise ConnectionError("it is jammed")

class Dull:
    pass

class Locked(Drum):
    def open(self):
        raise ConnectionError("nobody\\nthere")
"""

ENTRY_POINTS = """\
[forewarn.notifiers]
drum = drum_notifier:Drum
dull = drum_notifier:Dull
jammed = drum_notifier:Jammed
locked = drum_notifier:Locked
lost = no_such_module:Notifier
leaving = sys:exit
log = drum_notifier:Drum
file = forewarn_notifier_file:FileNotifier
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package that offers notifiers."""
    (tmp_path / "drum_notifier.py").write_text(MODULE)
    info = tmp_path / "drum-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: drum\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)
    monkeypatch.syspath_prepend(tmp_path)


def make(kind: str, url: str | None = None, **options: object) -> Notifier:
    target = Target(name="ops", kind=kind, url=url, options=options)
    return make_notifier(target, source="/forewarn", now=lambda: SENT)


def test_built_in_notifiers_exist() -> None:
    assert isinstance(make("webhook", "http://127.0.0.1:1"), Webhook)
    assert isinstance(make("log"), LogNotifier)


def test_installed_notifiers_are_named_after_built_in_ones() -> None:
    known_names = notifier_names()
    assert [*known_names[:2]] == ["webhook", "log"]
    assert "drum" in known_names[2:]
    assert known_names.count("log") == 1


def test_installed_notifier_is_created_with_its_options() -> None:
    assert getattr(make("drum", path="/x", size=3), "told", None) == ("/x", 3)


def test_installed_notifier_cannot_replace_a_built_in_one() -> None:
    assert isinstance(make("log"), LogNotifier)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("drum", "path"),
        ("lost", "no_such_module"),
        ("leaving", "SystemExit"),
        ("dull", "has no method notify"),
        ("unheard-of", "there are webhook, log, drum"),
    ],
)
def test_unusable_notifier_is_refused_with_a_message(kind: str, words: str) -> None:
    with pytest.raises(CannotStart, match=words) as refused:
        make(kind)
    assert kind in str(refused.value) or kind == "dull"
    assert "\n" not in str(refused.value)


def test_a_notifier_is_opened_and_closed() -> None:
    notifier = make("drum", path="/x")
    open_notifier("ops", notifier)
    assert getattr(notifier, "steps", None) == ["open"]
    close_notifier("ops", notifier)
    assert getattr(notifier, "steps", None) == ["open", "close"]


def test_notifier_that_cannot_be_opened_is_refused_with_a_message() -> None:
    with pytest.raises(CannotStart) as refused:
        open_notifier("ops", make("locked", path="/x"))
    assert str(refused.value).endswith("ConnectionError: nobody there")


def test_notifier_that_cannot_be_closed_does_not_stop_the_shutdown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    close_notifier("ops", make("jammed", path="/x"))
    assert "it is jammed" in caplog.text


def test_example_notifier_of_the_page_writes_a_line(tmp_path: Path) -> None:
    pages = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [block for block in pages if "class FileNotifier" in block]
    (tmp_path / "forewarn_notifier_file.py").write_text(code)
    file = tmp_path / "trail"
    make("file", path=str(file)).notify(a_notice())
    assert file.read_text() == "17 Started\n"


def test_notifier_without_open_and_close_is_accepted() -> None:
    notifier = make("log")
    open_notifier("ops", notifier)
    close_notifier("ops", notifier)
