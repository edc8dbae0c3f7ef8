"""Invalid announcements: 422 with a reason."""

import pytest
from tests.server.support.service import RunningService

#: Changes that invalidate a Reboot of web-0, and a word of the expected reason.
WRONG: dict[str, tuple[dict[str, object], str]] = {
    "no type": ({"type": None}, "type"),
    "an unknown type": ({"type": "Explode"}, "Freeze"),
    "a type that is a number": ({"type": 1}, "type"),
    "host and group": (
        {"vms": None, "host": "host-a", "group": "web"},
        "vms, host and group",
    ),
    "vms as text": ({"vms": "web-0"}, "vms"),
    "vms as numbers": ({"vms": [1]}, "vms"),
    "host as a list": ({"vms": None, "host": ["host-a"]}, "host"),
    "notice as text": ({"notice_seconds": "900"}, "notice_seconds"),
    "notice as a fraction": ({"notice_seconds": 900.5}, "notice_seconds"),
    "notice as a whole fraction": ({"notice_seconds": 900.0}, "notice_seconds"),
    "notice as true": ({"notice_seconds": True}, "notice_seconds"),
    "a negative notice": ({"notice_seconds": -1}, "notice_seconds"),
    "an absurd notice": ({"notice_seconds": 10**30}, "notice_seconds"),
    "duration as text": ({"duration_seconds": "9"}, "duration_seconds"),
    "an absurd duration": ({"duration_seconds": 10**30}, "duration_seconds"),
    "a time without zone": ({"not_before": "2040-01-01T00:00:00"}, "zone"),
    "a day": ({"not_before": "2040-01-01"}, "zone"),
    "a time as a number": ({"not_before": 2_208_988_800}, "not_before"),
    "a time in words": ({"not_before": "tomorrow"}, "not_before"),
    "an empty time": ({"not_before": ""}, "not_before"),
    "a time that is none": ({"not_before": "2040-02-30T00:00:00Z"}, "not_before"),
    "before all times": ({"not_before": "0001-01-01T00:00:00+14:00"}, "not_before"),
    "beyond all times": ({"not_before": "9999-12-31T23:59:59-14:00"}, "not_before"),
    "an unknown source": ({"source": "Weather"}, "Platform"),
    "an emergency in words": ({"emergency": "yes", "reason": "smoke"}, "emergency"),
    "short notice": ({"notice_seconds": 15, "short_notice": True}, "short_notice"),
    "an unknown key": ({"notice": 900}, "notice"),
    "a misspelled key": ({"notBefore": "2040-01-01T00:00:00Z"}, "notBefore"),
    "a description that is no text": ({"description": 1}, "description"),
    "an endless description": ({"description": "x" * 100_000}, "description"),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("path", ["/v1/maintenances", "/v1/maintenances?dry_run=true"])
def test_invalid_announcement_gets_422_with_a_reason_and_changes_nothing(
    shared: RunningService, wrong: str, path: str
) -> None:
    changes, word = WRONG[wrong]
    body = {"type": "Reboot", "vms": ["web-0"], **changes}
    sent = {key: value for key, value in body.items() if value is not None}
    before = shared.facts()
    answer = shared.request("POST", path, sent)
    assert answer.status == 422
    assert word in answer.detail
    assert shared.facts() == before


@pytest.mark.parametrize("key", ["vms", "host", "type", "description", "reason"])
def test_text_that_is_not_unicode_gets_422(shared: RunningService, key: str) -> None:
    value = '["\\ud800"]' if key == "vms" else '"\\ud800"'
    fields = {"type": '"Reboot"', "vms": '["web-0"]', key: value}
    if key == "host":
        del fields["vms"]
    body = ",".join(f'"{name}":{text}' for name, text in fields.items())
    answer = shared.request("POST", "/v1/maintenances", raw=f"{{{body}}}".encode())
    assert answer.status == 422


@pytest.mark.parametrize("notice", ["1e400", "NaN", "-Infinity", "1e3"])
def test_numbers_outside_json_are_refused(shared: RunningService, notice: str) -> None:
    body = f'{{"type":"Reboot","vms":["web-0"],"notice_seconds":{notice}}}'
    answer = shared.request("POST", "/v1/maintenances", raw=body.encode())
    assert answer.status in (400, 422)
    assert answer.detail


def test_form_body_is_refused_with_a_hint(
    shared: RunningService,
) -> None:
    answer = shared.request(
        "POST",
        "/v1/maintenances",
        raw=b'{"type":"Reboot","vms":["web-0"]}',
        Content_Type="application/x-www-form-urlencoded",
    )
    assert answer.status in (415, 422)
    assert "application/json" in answer.detail
