"""Guard of plain English: words and patterns that make a sentence sound translated.

It reads Markdown without code, Python's docstrings, comments, strings and test names,
and the other text files as a whole. It is a net, not a judge: most odd sentences
contain none of these words.
"""

import ast
import io
import re
import subprocess
import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

#: Patterns that a text must not contain, and what to write instead. A blank matches
#: any white space; words match as a whole, in either case.
RULES: Mapping[str, str] = {
    "whoever|whom": "name the actor: a client that..., anyone with...",
    "he|him|his|himself|she|hers?|herself": "they, them, their, its",
    "says? (?:that|which|whether|what|how|when|why|who|so)": "show, report, state",
    "tell(?! apart)|tells|telling|told": "show, report, log, return, notify",
    "asks?|asked|asking": "request, poll, prompt for",
    "answers?|answered|answering": "response, respond, return",
    "lets? (?:the|a|an|it|its|them|their|others?|every|each|any|all|no|nobody|clients?"
    "|callers?|services?|programs?|agents?|VMs?)": "cause, make, inject, leave, allow",
    "(?<=,\\s)too(?=[.,;:)])": "omit it",
    "also (?:after|before|if|when|while) ": "even after, even if",
    "is no (?:VM|host|group|event|event type|maintenance|number|token|address)": (
        "VM 'x' not found, 'x' is not a number"
    ),
    "(?:is|are) (?!not )[a-z]+ since": "has been ... since",
    "at the (?:most|least)": "at most, at least",
    "leaves? away|left away": "omit",
    "in the place of": "instead of",
    "beside": "next to, alongside",
    "over a crash": "across a crash",
    "somebody|everybody": "someone, everyone, or name the actor",
    "befall\\w*|befell|anew|seldom|in earnest|for want of|lest|takes? leave|wears? out"
    "|comes? along|reckon\\w*|hardly|is well": "plain words",
    "behaviours?|colour\\w*|cancelled|cancelling|honour\\w*|favour\\w*|neighbour\\w*"
    "|(?:recogn|organ|serial|initial|normal|author|summar|synchron|random|minim|maxim"
    "|final|util|special|sanit|optim|prior|custom|real|general)is(?:e[ds]?|ing|ation)"
    "|licences?|centred?|grey|artefacts?|catalogues?|analyse[ds]?|whilst|amongst|towards"
    "|labell\\w+|modell\\w+|travell\\w+": "American spelling",
    "(?:of|the|all|these|live|open|more|other|several|new|its|their|no|many|some"
    "|planned|scheduled|started|two|on|for|by|with|in|\\d+) maintenances": (
        "maintenance operations"
    ),
    "tapes?": "recording",
    "(?<!logic\\s)gates?": "blocker, blocked by",
    "unheard|pieces? of advice": "disabled; suggestions",
    "(?<![\\d.,:-])1 (?:requests|events|VMs|hosts|groups|minutes|seconds|lines|days)": (
        "the singular"
    ),
}
_EACH = "|".join(f"({rule})".replace(" ", r"\s+") for rule in RULES)
#: All of them at once, each as a group, because one pass is 20 times faster.
PATTERN = re.compile(rf"(?<![\w/.-])(?:{_EACH})(?![\w(-])", re.IGNORECASE)
INSTEAD = tuple(RULES.values())

#: Text of others, data that was recorded, and this file.
LEFT_OUT = re.compile(
    r"LICENSE|requirements/|tests/golden/|tests/test_prose\.py|.*/vendor/"
    r"|.*\.(gz|png|svg|jsonl|sql|typed)$"
)
#: Code in Markdown, and quotations.
CODE = re.compile(
    r"^(```+).*?^\1|^ *>.*?$|`[^`\n]*(?:\n[^`\n]*)?`|\]\([^)]*\)|<!--.*?-->"
    r"|\"[^\"\n]*\"",
    re.DOTALL | re.MULTILINE,
)


def files() -> list[str]:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True)
    names = listed.stdout.decode().split("\0")
    return [name for name in names if name and not LEFT_OUT.match(name)]


def passages(name: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the texts that a person reads, each with its first line."""
    if name.endswith(".py"):
        yield from _of_python(text)
    elif name.endswith(".md"):
        yield 1, CODE.sub(lambda code: "\n" * code[0].count("\n"), text)
    else:
        yield 1, text


def _of_python(text: str) -> Iterator[tuple[int, str]]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value:
                yield node.lineno, node.value
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            if node.name.startswith("test_"):
                yield node.lineno, node.name.replace("_", " ")
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def findings(name: str, text: str) -> Iterator[str]:
    for start, passage in passages(name, text):
        for match in PATTERN.finditer(passage):
            line = start + passage.count("\n", 0, match.start())
            instead = INSTEAD[(match.lastindex or 1) - 1]
            yield f"{name}:{line}: {match[0]!r}; write: {instead}"


def test_text_is_plain_english() -> None:
    found = [
        finding
        for name in files()
        for finding in findings(name, (ROOT / name).read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Whoever asks is answered.",
        "The service tells it.",
        "It holds over\na crash.",
        "There are hosts, too.",
        "'web-9' is no VM",
        "It is stuck since 08:22.",
        "1 requests",
    ],
)
def test_odd_sentences_are_found(sentence: str) -> None:
    assert [*findings("page.md", sentence)]
    assert [*findings("module.py", f'"""{sentence}"""')]


@pytest.mark.parametrize(
    "sentence",
    [
        "Use `answer` to\nrespond.",
        "```\ntell\n```",
        "> Microsoft: whoever asks",
        "It is precise, has promised 11 requests, and lets you tell apart two of them.",
    ],
)
def test_code_and_quotations_are_not_read(sentence: str) -> None:
    assert [*findings("page.md", sentence)] == []
