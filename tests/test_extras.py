"""Optional dependencies: what to install if a module is missing."""

import json
import sys

import pytest

from forewarn.errors import CannotStart
from forewarn.extras import install_command, install_hint, required_extra


@pytest.mark.parametrize(
    ("source", "command"),
    [
        ("{}", "'forewarn[server]'"),  # from a package index
        (
            '{"url": "https://example.com/forewarn-1-py3-none-any.whl"}',
            "'forewarn[server]'",
        ),
        ('{"url": "file:///opt/forewarn", "dir_info": {}}', "'/opt/forewarn[server]'"),
        (
            '{"url": "file:///opt/forewarn", "dir_info": {"editable": true}}',
            "--editable '/opt/forewarn[server]'",
        ),
        (
            '{"url": "file:///tmp/forewarn-1-py3-none-any.whl", "archive_info": {}}',
            "'/tmp/forewarn-1-py3-none-any.whl[server]'",
        ),
        (
            '{"url": "file:///home/o%27hara/my%20code", "dir_info": {}}',
            """'/home/o'"'"'hara/my code[server]'""",
        ),
    ],
)
def test_command_installs_the_extra_from_the_same_source(
    source: str, command: str
) -> None:
    assert install_command("server", json.loads(source)) == command


def test_hint_names_this_python() -> None:
    hint = install_hint("postgres")
    assert hint.startswith(f"to install it, run: {sys.executable} -m pip install ")
    assert hint.endswith("[postgres]'")


def test_missing_module_is_named_with_the_remedy() -> None:
    with (
        pytest.raises(CannotStart) as refused,
        required_extra("server", "`forewarn serve`"),
    ):
        import forewarn_has_no_such_module  # type: ignore[import-not-found]  # noqa: F401
    assert str(refused.value).startswith(
        "`forewarn serve` requires the server extra (module"
        " forewarn_has_no_such_module not found); to install it, run: "
    )


def test_error_in_forewarn_itself_is_not_a_missing_extra() -> None:
    with pytest.raises(ImportError), required_extra("server", "`forewarn serve`"):
        from forewarn.extras import no_such_name  # type: ignore[attr-defined]  # noqa: F401
