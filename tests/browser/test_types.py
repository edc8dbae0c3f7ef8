"""Type check of the portal's JavaScript."""

import json
from pathlib import Path

from tests.browser.files import PORTAL
from tests.programs.installed import NODE_MODULES, needs, node_module, run_program

pytestmark = needs("node")

OPTIONS = {
    "allowJs": True,
    "checkJs": True,
    "strict": True,
    "noEmit": True,
    "target": "es2022",
    "lib": ["es2023", "dom", "dom.iterable"],
    "module": "esnext",
    "moduleResolution": "bundler",
    "skipLibCheck": True,
    "types": [],
}


def test_the_portal_passes_the_type_check(tmp_path: Path) -> None:
    for name in ("typescript", "preact"):
        node_module(name)
    typed = ("preact", "preact/hooks")  # vendor/ has them without types
    paths = {name: [str(NODE_MODULES / name)] for name in typed}
    written = {
        "compilerOptions": {**OPTIONS, "paths": paths},
        "include": [str(PORTAL)],
        "exclude": [str(PORTAL / "vendor")],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(written))
    compiler = NODE_MODULES / "typescript" / "bin" / "tsc"
    ended = run_program(tmp_path, "node", str(compiler), "--pretty", "false")
    assert ended.code == 0, ended.out + ended.err
