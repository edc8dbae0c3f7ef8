"""Error messages about approvals."""

from dataclasses import replace

from tests.core.support.builders import NOON, a_maintenance, an_event

from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.testing.rehearsal.event import too_early, what_approved
from forewarn.testing.rehearsal.observer import Mark


def an_approved(via: Via) -> Maintenance:
    event = an_event("E0", resources=("web-0",), approved_at=NOON)
    return a_maintenance("m0", events=[replace(event, approved_via=via)])


def marked(*times: float, approved: float | None) -> str | None:
    marks = [Mark(name="drained", at=at) for at in times]
    return too_early("Reboot E0", marks, "drained", 1.0, approved)


def test_first_of_several_equal_marks_counts() -> None:
    assert marked(2.0, 9.0, approved=5.0) is None
    assert marked(0.5, 7.0, 9.0, approved=5.0) == (
        "Reboot E0 was approved 2.00 s before the mark 'drained'"
    )


def test_approval_by_group_settings_is_described_as_such() -> None:
    by_rule = what_approved(an_approved(Via.POLICY), "E0")
    assert by_rule == "Reboot E0 of web-0 was approved by the settings of group group0"
    by_vm = what_approved(an_approved(Via.METADATA), "E0")
    assert by_vm == "Reboot E0 of web-0 was approved by somebody"
