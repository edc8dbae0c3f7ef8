"""The page on 169.254.169.254, and what is to be copied from it.

A block says behind its three backticks what it is: `sh hypervisor rules` is run on the
hypervisor to load the rules, `nft bridge.nft` is a file of that name.
"""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "reach-169-254-169-254.md"

_BLOCK = re.compile(r"^```(.+)\n([^`]+)```$", re.MULTILINE)


def copied(title: str, label: str, page: Path = PAGE) -> str:
    """What the `page` has under `label` in the section with this `title`."""
    (section,) = (
        each
        for each in page.read_text().split("\n## ")
        if each.partition("\n")[0] == title
    )
    found = [text for named, text in _BLOCK.findall(section) if named == label]
    assert found, f"{page.name} has no {label} in {title}"
    return "".join(found)


def labels() -> set[str]:
    """Every label of the page."""
    return {label for label, _ in _BLOCK.findall(PAGE.read_text())}
