"""Webhook signatures, verified with the code shown in the documentation."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.notifiers.samples import SENT

from forewarn.errors import InvalidInput
from forewarn.notifiers.targets import Target, with_secrets
from forewarn.notifiers.webhook import signature

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "receive-webhooks.md"
BODY = '{"id":"17","reason":"Übung"}'.encode()
NOW = SENT.timestamp()

Check = Callable[[bytes, str, str, float], bool]


@pytest.fixture(scope="module")
def is_genuine() -> Check:
    """Return the function shown on the page for receivers."""
    lines = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (code,) = [block for block in lines if "def is_genuine" in block]
    names: dict[str, Check] = {}
    exec(code, names)  # defines one function
    return names["is_genuine"]


def test_signature_is_verified_with_the_right_secret(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT)
    assert is_genuine(BODY, header, "hush", NOW)
    assert not is_genuine(BODY, header, "other", NOW)


def test_changed_body_is_refused(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT)
    assert not is_genuine(BODY + b" ", header, "hush", NOW)


def test_changed_time_is_refused(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT)
    later = header.replace(f"t={int(NOW)}", f"t={int(NOW) + 1}")
    assert later != header
    assert not is_genuine(BODY, later, "hush", NOW)


def test_old_signature_is_refused(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT - timedelta(seconds=301))
    assert not is_genuine(BODY, header, "hush", NOW)
    assert is_genuine(BODY, header, "hush", NOW - 2)


def test_either_secret_verifies_during_a_rotation(is_genuine: Check) -> None:
    header = signature(BODY, ["new", "old"], SENT)
    assert header.count("v1=") == 2
    assert is_genuine(BODY, header, "new", NOW)
    assert is_genuine(BODY, header, "old", NOW)
    assert not is_genuine(BODY, header, "other", NOW)


@pytest.mark.parametrize(
    "header", ["", "v1=", "t=,v1=", "t=1", "t=x,v1=00", "t=1,t=2,v1=00", "t=1,v1=é"]
)
def test_malformed_signature_is_refused(is_genuine: Check, header: str) -> None:
    assert not is_genuine(BODY, header, "hush", NOW)


def test_signature_is_as_documented() -> None:
    # Computed with: printf '1767618000.{}' | openssl dgst -sha256 -hmac hush
    assert signature(b"{}", ["hush"], SENT) == (
        "t=1767618000,v1="
        "5edbb0eb2f3df4cc412af97a075ced1af6b391b53ee000c05d7f36bb4155851d"
    )


def test_secret_that_is_not_text_is_refused() -> None:
    target = Target(name="ops", kind="webhook", secret_variables=("SECRET",))
    with pytest.raises(InvalidInput, match="a secret for ops is not valid text"):
        with_secrets([target], {"SECRET": "hush\udcff"})
