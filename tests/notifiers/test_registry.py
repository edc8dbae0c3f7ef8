"""Notifiers by kind: the built-in ones, and those of installed packages."""

import re
from pathlib import Path

import pytest
from tests.notifiers.samples import SENT, a_notice

from forewarn.errors import CannotStart
from forewarn.notifiers.registry import LogNotifier, make_notifier
from forewarn.notifiers.targets import NOTIFIERS, Target
from forewarn.notifiers.webhook import Webhook
from forewarn.ports import Notifier

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "receive-webhooks.md"


def make(kind: str, url: str | None = None, **options: object) -> Notifier:
    target = Target(name="ops", kind=kind, url=url, options=options)
    return make_notifier(target, source="/forewarn", now=lambda: SENT)


def test_built_in_notifiers_exist() -> None:
    assert isinstance(make("webhook", "http://127.0.0.1:1"), Webhook)
    assert isinstance(make("log"), LogNotifier)
    assert [*NOTIFIERS.ours] == ["webhook", "log"]


def test_other_kinds_are_those_of_installed_notifiers() -> None:
    with pytest.raises(
        CannotStart, match="unknown notifier 'drum'; expected one of: webh"
    ):
        make("drum")
    assert NOTIFIERS.method == "notify"


def test_example_notifier_of_the_page_can_be_installed_and_writes_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [block for block in pages if "class FileNotifier" in block]
    (tmp_path / "forewarn_notifier_file.py").write_text(code)
    info = tmp_path / "file-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: file\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[forewarn.notifiers]\nfile = forewarn_notifier_file:FileNotifier\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "trail"
    make("file", path=str(file)).notify(a_notice())
    assert file.read_text() == "17 Started\n"
