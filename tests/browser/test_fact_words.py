"""Phrases of the portal for every kind of fact."""

import json
from pathlib import Path
from typing import get_args

from tests.browser.files import PORTAL
from tests.programs.installed import needs, run_program

from forewarn.core.lifecycle.facts import Fact

pytestmark = needs("node")

_PRINT = """\
const { FACT_KINDS } = await import(process.argv[1]);
console.log(JSON.stringify(FACT_KINDS));
"""


def test_every_kind_of_fact_has_a_phrase(tmp_path: Path) -> None:
    module = (PORTAL / "overview" / "phrases.js").as_uri()
    ended = run_program(
        tmp_path, "node", "--input-type=module", "-e", _PRINT, "--", module
    )
    assert ended.code == 0, ended.err
    assert {*json.loads(ended.out)} == {kind.__name__ for kind in get_args(Fact)}
