"""The reference page and schema of scenario files, generated from the parser."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_page_and_schema_are_up_to_date() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_scenario_page.py"))
    for name, generated in module["pages"]().items():
        kept = (ROOT / "docs" / "reference" / name).read_text()
        assert kept == generated, f"{name} is old; run scripts/reference"
