"""The page on 169.254.169.254, and the code blocks in it.

The label after the three backticks determines how a block is used: `sh hypervisor
rules` is run on the hypervisor to load the rules, `nft bridge.nft` is a file of that
name.
"""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "reach-169-254-169-254.md"

_BLOCK = re.compile(r"^```(.+)\n([^`]+)```$", re.MULTILINE)


def copied(title: str, label: str, page: Path = PAGE) -> str:
    """Return the blocks labeled `label` in the section `title` of `page`."""
    (section,) = (
        section_text
        for section_text in page.read_text().split("\n## ")
        if section_text.partition("\n")[0] == title
    )
    blocks = [text for named, text in _BLOCK.findall(section) if named == label]
    assert blocks, f"{page.name} has no {label} in {title}"
    return "".join(blocks)


def labels() -> set[str]:
    """Return every label of the page."""
    return {label for label, _ in _BLOCK.findall(PAGE.read_text())}
