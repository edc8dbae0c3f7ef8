"""Signatures, checked by the lines that the page for receivers shows."""

import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from tests.notifiers.samples import SENT

from forewarn.errors import InvalidInput
from forewarn.notifiers.secrets import complete
from forewarn.notifiers.signing import signature
from forewarn.notifiers.targets import Target

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "receive-webhooks.md"
BODY = '{"id":"17","reason":"Übung"}'.encode()
NOW = SENT.timestamp()

Check = Callable[[bytes, str, str, float], bool]


@pytest.fixture(scope="module")
def is_genuine() -> Check:
    """The lines of the page."""
    lines = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (found,) = [each for each in lines if "def is_genuine" in each]
    names: dict[str, Check] = {}
    exec(found, names)  # it defines one function
    return names["is_genuine"]


def test_whoever_has_the_secret_can_tell(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT)
    assert is_genuine(BODY, header, "hush", NOW)
    assert not is_genuine(BODY, header, "other", NOW)


def test_a_body_that_was_changed_is_refused(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT)
    assert not is_genuine(BODY + b" ", header, "hush", NOW)


def test_a_time_that_was_changed_is_refused(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT)
    later = header.replace(f"t={int(NOW)}", f"t={int(NOW) + 1}")
    assert later != header
    assert not is_genuine(BODY, later, "hush", NOW)


def test_what_is_old_is_refused(is_genuine: Check) -> None:
    header = signature(BODY, ["hush"], SENT - timedelta(seconds=301))
    assert not is_genuine(BODY, header, "hush", NOW)
    assert is_genuine(BODY, header, "hush", NOW - 2)


def test_while_a_secret_is_changed_either_is_enough(is_genuine: Check) -> None:
    header = signature(BODY, ["new", "old"], SENT)
    assert header.count("v1=") == 2
    assert is_genuine(BODY, header, "new", NOW)
    assert is_genuine(BODY, header, "old", NOW)
    assert not is_genuine(BODY, header, "other", NOW)


@pytest.mark.parametrize(
    "header", ["", "v1=", "t=,v1=", "t=1", "t=x,v1=00", "t=1,t=2,v1=00", "t=1,v1=é"]
)
def test_what_is_no_signature_is_refused(is_genuine: Check, header: str) -> None:
    assert not is_genuine(BODY, header, "hush", NOW)


def test_a_signature_is_what_the_page_says() -> None:
    # By openssl: printf '1767618000.{}' | openssl dgst -sha256 -hmac hush
    assert signature(b"{}", ["hush"], SENT) == (
        "t=1767618000,v1="
        "5edbb0eb2f3df4cc412af97a075ced1af6b391b53ee000c05d7f36bb4155851d"
    )


def test_a_secret_that_nothing_can_be_signed_with_is_refused() -> None:
    target = Target(name="ops", kind="webhook", secret_variables=("SECRET",))
    with pytest.raises(InvalidInput, match="a secret of ops is not text"):
        complete([target], {"SECRET": "hush\udcff"})
