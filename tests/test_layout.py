"""Guards of the layout: package sizes and names."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "forewarn"

MOST_MODULES = 14

#: Class names that two modules share on purpose.
SHARED_CLASSES = {"Client"}  # blocking and asyncio

#: Package names that users import, and words that only look like verb forms.
NOT_VERB_FORMS = {"testing", "string", "ring", "feed", "seed", "speed", "embed"}
#: Past participles that do not end in -ed.
PARTICIPLES = re.compile(
    "befallen|begun|bound|built|cut|done|found|given|gone|heard|held|kept|known|left"
    "|lost|made|meant|met|said|seen|sent|shown|spoken|taken|told|written"
)


def modules() -> Iterator[Path]:
    return (path for path in SOURCE.rglob("*.py") if path.name != "__init__.py")


def trees(*folders: Path) -> Iterator[tuple[Path, ast.Module]]:
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            yield path.relative_to(ROOT), ast.parse(path.read_bytes())


def is_verb_form(name: str) -> bool:
    """Whether a part of a module's name is a gerund or a participle."""
    return any(
        word not in NOT_VERB_FORMS
        and (word.endswith(("ing", "ed")) or PARTICIPLES.fullmatch(word))
        for word in name.split("_")
    )


def test_no_package_is_too_large() -> None:
    sizes = Counter(path.parent.relative_to(SOURCE) for path in modules())
    too_large = {
        str(package): size for package, size in sizes.items() if size > MOST_MODULES
    }
    assert too_large == {}


def test_public_class_names_are_unique() -> None:
    places: dict[str, list[str]] = {}
    for path, tree in trees(SOURCE):
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path))
    shared: Mapping[str, list[str]] = {
        name: paths
        for name, paths in places.items()
        if len(paths) > 1 and name not in SHARED_CLASSES
    }
    assert shared == {}


@pytest.mark.parametrize("name", ["rehearsing", "befallen_ends", "told", "rehearsed"])
def test_verb_forms_are_recognized(name: str) -> None:
    assert is_verb_form(name)
    assert not is_verb_form("settings_file")


def test_modules_and_packages_are_named_with_nouns() -> None:
    parts = {part for path in modules() for part in path.relative_to(SOURCE).parts}
    names = {part.removesuffix(".py") for part in parts}
    assert [name for name in sorted(names) if is_verb_form(name)] == []
