"""What is published about scenario files is what the reader knows."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_and_the_schema_are_what_the_program_says() -> None:
    module = runpy.run_path(str(ROOT / "docs" / "make_scenario_page.py"))
    for name, made in module["pages"]().items():
        kept = (ROOT / "docs" / "reference" / name).read_text()
        assert kept == made, f"{name} is old; run scripts/reference"
