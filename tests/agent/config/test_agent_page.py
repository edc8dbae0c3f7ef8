"""The agent reference page and the example file match the code."""

import re
from pathlib import Path

import pytest

from forewarn.agent.config.file import read_plan
from forewarn.agent.config.schema import HOOK, METRICS, RANGE, RULE, TOP, WINDOW, Keys

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "agent.md").read_text()


@pytest.mark.parametrize(
    ("section", "keys"),
    [
        ("## Top-level keys", TOP),
        ("## `[metrics]`", METRICS),
        ("## `[hooks.NAME]`", HOOK),
        ("## `[[rules]]`", RULE),
        ("### Ranges", RANGE),
        ("### Windows", WINDOW),
    ],
    ids=lambda each: each.strip("# ") if isinstance(each, str) else "",
)
def test_the_page_lists_exactly_the_known_keys(section: str, keys: Keys) -> None:
    _, _, rest = PAGE.partition(f"\n{section}\n")
    table = re.split(r"^##", rest, maxsplit=1, flags=re.MULTILINE)[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == [*keys]


def test_the_page_s_examples_are_valid(tmp_path: Path) -> None:
    shown = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert shown
    for number, text in enumerate(shown):
        file = tmp_path / f"{number}.toml"
        file.write_text(text)
        assert read_plan(file).warnings == ()


def test_the_example_file_causes_no_warning() -> None:
    plan = read_plan(ROOT / "examples" / "agent" / "agent.toml")
    assert plan.warnings == ()
    assert len(plan.rules) == 5
