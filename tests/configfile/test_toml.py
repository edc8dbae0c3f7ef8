"""TOML files: errors that name the line, and the line numbers of keys."""

import json
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.configfile.toml import (
    MAX_BYTES,
    decode,
    lines_of,
    load,
    parse,
    read_bytes,
)
from forewarn.configfile.values import KeyPath
from forewarn.errors import CannotStart

# --- files -------------------------------------------------------------------


def test_a_windows_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b'\xef\xbb\xbfa = 1\r\nb = """x\r\ny"""\r\n')
    assert load(file) == {"a": 1, "b": "x\ny"}
    assert lines_of(decode(file.read_bytes(), file)).of(("b",)) == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'name = "x\n', "line 1, column 10: not valid TOML: Illegal character"),
        (b"a = 1\na = 2\n", "line 2, column 6: not valid TOML: Cannot overwrite"),
        (b"a = [1,\n\n", "line 3: not valid TOML: Invalid value"),
        (b"a = " + b"[" * 100_000, "line 1: not valid TOML: nested too deeply"),
        (b'a = "x"\nb = "\xff"\n', "line 2: not valid UTF-8"),
        (b"a = 1\n" + b"a." * 8 + b"b = 1", "line 2: a key can have at most 8 parts"),
        (b"\n [[ " + b"a . " * 8 + b"b]]", "line 2: a key can have at most 8 parts"),
        (b"a = {b=1, " + b'"\\"x".' * 8, "line 1: a key can have at most 8 parts"),
        (b'a = """\n#"""\n' + b"'a'." * 9, "line 3: a key can have at most 8 parts"),
        (b'a = "x\n' + b"a." * 9, "line 1, column 7: not valid TOML: Illegal"),
    ],
    ids=[
        "text",
        "twice",
        "end",
        "deep",
        "binary",
        "key",
        "header",
        "inline",
        "quoted",
        "open",
    ],
)
def test_an_invalid_file_is_refused_with_the_line(
    tmp_path: Path, content: bytes, message: str
) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(content)
    with pytest.raises(CannotStart) as refused:
        load(file, CannotStart)
    assert str(refused.value).startswith(f"{file}, {message}")


@pytest.mark.parametrize(
    "text",
    [
        "a.b.c.d.e.f.g.h = 1",
        'name = "1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"',
        'names = ["x", "1.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa"]',
        'text = "an object, 1.3.6.1.4.1.8072.2.3.0"',
        'text = """\n1.3.6.1.4.1.8072.2.3.0 i 1\n"""',
        "# an object, 1.3.6.1.4.1.8072.2.3.0\na = 1",
    ],
)
def test_a_key_of_8_parts_and_values_with_more_are_accepted(text: str) -> None:
    assert parse(text, "a.toml") == tomllib.loads(text)


def test_a_large_file_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    with file.open("wb") as opened:
        opened.truncate(MAX_BYTES * 2)  # sparse
    assert len(read_bytes(file)) == MAX_BYTES + 1
    with pytest.raises(
        CannotStart, match=r"a\.toml is too large; the maximum is 64 MiB"
    ):
        load(file, CannotStart)


def test_an_unreadable_file_is_refused_with_the_reason(tmp_path: Path) -> None:
    for path, why in (
        (tmp_path / "gone", "no such file or directory"),
        (tmp_path, "is a directory"),
    ):
        with pytest.raises(CannotStart) as refused:
            load(path, CannotStart)
        assert str(refused.value) == f"cannot read {path}: {why}"


# --- lines of keys -----------------------------------------------------------

FILE = """\
# a comment with [brackets] and = signs
endpoint = "http://x"   # [hooks.no]

[metrics]
listen = '127.0.0.1:9254'

[hooks]
drain.command = [
  "drain",   # first ]
  "--now",
]
drain.tries = 3
other = { command = "a # b", tries = 2 }

[hooks."with space"]
command = \"\"\"
[[rules]]
name = "no"
\"\"\"\"

[[rules]]
name = "one"
types = ["Reboot",
         "Freeze"]

[rules.window]
from = 22:00:00

[[rules]]
"name" = 'two'
duration_seconds.min = 5
"""


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("endpoint",), 2),
        (("metrics",), 4),
        (("metrics", "listen"), 5),
        (("hooks",), 7),
        (("hooks", "drain"), 8),
        (("hooks", "drain", "command", 0), 9),
        (("hooks", "drain", "command", 1), 10),
        (("hooks", "drain", "tries"), 12),
        (("hooks", "other", "tries"), 13),
        (("hooks", "with space"), 15),
        (("hooks", "with space", "command"), 16),
        (("rules",), 21),
        (("rules", 0), 21),
        (("rules", 0, "name"), 22),
        (("rules", 0, "types", 1), 24),
        (("rules", 0, "window"), 26),
        (("rules", 0, "window", "from"), 27),
        (("rules", 1), 29),
        (("rules", 1, "name"), 30),
        (("rules", 1, "duration_seconds", "min"), 31),
    ],
)
def test_a_key_is_found_however_it_is_written(path: KeyPath, line: int) -> None:
    tomllib.loads(FILE)
    assert lines_of(FILE).of(path) == line


def test_a_missing_key_has_the_line_of_its_table() -> None:
    assert lines_of(FILE).of(("rules", 1, "approve")) == 29
    assert lines_of(FILE).of(("hooks", "other", "python")) == 13


def test_an_unknown_path_has_the_first_line() -> None:
    assert lines_of(FILE).of(("scripts", 3)) == 1
    assert lines_of("").of(()) == 1


@pytest.mark.parametrize("text", ["a = [", "a = [}", "= [#", "a = {,", "]]]", "a."])
def test_invalid_toml_does_not_loop_forever(text: str) -> None:
    assert lines_of(text).of(("a",)) == 1


# --- any file ----------------------------------------------------------------

#: One-line and multi-line values, with characters that have a meaning elsewhere.
RAW = st.sampled_from(
    [
        "1",
        "-2.5e3",
        "true",
        "2026-01-31T12:15:00Z",
        "22:00:00",
        '""',
        '"a # b = [c] {d}"',
        r'"say \"no\" \\"',
        "'it is \\'",
        '"""two\n[[lines]]\n"""',
        '"""quotes ""\\""" """""',
        "'''\n'x' = 1\n'''''",
        "[]",
        "{}",
    ]
)
NAMES = st.sampled_from(["a", "b-1", "c_2", "3", "with space", "dot.ted", "#", "é", ""])
VALUES = st.recursive(
    RAW,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(NAMES, inner, max_size=3),
    ),
    max_leaves=6,
)
TABLES = st.lists(
    st.tuples(
        st.booleans(),
        st.lists(NAMES, min_size=1, max_size=2),
        st.dictionaries(NAMES, VALUES, max_size=3),
    ),
    max_size=4,
)


@dataclass
class TomlWriter:
    """Writes a TOML file and records the line of each key."""

    style: st.DataObject
    text: str = ""
    expected: dict[KeyPath, int] = field(default_factory=dict)

    def mark(self, path: KeyPath) -> None:
        self.expected[path] = self.text.count("\n") + 1

    def key(self, name: str) -> str:
        is_bare = bool(name) and name.isascii() and name.replace("-", "").isalnum()
        quoted = [json.dumps(name), f"'{name}'"]
        return self.style.draw(st.sampled_from([name, *quoted] if is_bare else quoted))

    def pair(self, path: KeyPath, name: str, value: object) -> None:
        self.mark((*path, name))
        self.text += f"{self.key(name)} = "
        self.value((*path, name), value)

    def value(self, path: KeyPath, value: object) -> None:
        if isinstance(value, dict):
            self.text += "{ "
            for number, (name, item) in enumerate(value.items()):
                self.text += ", " if number else ""
                self.pair(path, name, item)
            self.text += " }"
        elif isinstance(value, list):
            self.text += "["
            for place, item in enumerate(value):
                self.text += self.style.draw(st.sampled_from(["", "\n  ", " # ]\n"]))
                self.mark((*path, place))
                self.value((*path, place), item)
                self.text += ","
            self.text += "]"
        else:
            self.text += str(value)

    def file(self, tables: list[tuple[bool, list[str], dict[str, object]]]) -> None:
        for number, (is_array, names, entries) in enumerate(tables):
            path: KeyPath = (f"t{number}", *names)
            header = " . ".join(self.key(str(part)) for part in path)
            for _ in range(2 if is_array else 1):
                self.text += self.style.draw(st.sampled_from(["", "\n", "# [x]\n"]))
                place = (*path, _) if is_array else path
                self.mark(place)
                self.text += f"[[{header}]]\n" if is_array else f"[{header}]\n"
                for name, value in entries.items():
                    self.pair(place, name, value)
                    self.text += "\n"


@given(TABLES, st.data())
def test_every_key_of_any_file_is_found_on_its_line(
    tables: list[tuple[bool, list[str], dict[str, object]]], style: st.DataObject
) -> None:
    writer = TomlWriter(style)
    writer.file(tables)
    tomllib.loads(writer.text)
    found_lines = lines_of(writer.text).by_path
    assert {path: found_lines.get(path) for path in writer.expected} == writer.expected
