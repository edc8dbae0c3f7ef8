"""Previews: what would happen to maintenance that is not announced yet."""

from collections.abc import Callable, Iterable

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    RULES,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    an_order,
)

from forewarn.core.fleet import VM, Group
from forewarn.core.lifecycle.announcements import announce
from forewarn.core.lifecycle.facts import Announced
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.queries.explanation import Explanation, explain_preview
from forewarn.core.queries.phrases import preview_ids
from forewarn.protocol.types import EventType

SOON = NOON + 5 * MINUTE
WEB = [a_vm(f"web-{number}", group="web", update_domain=number) for number in range(3)]


def previews_of(
    vms: Iterable[VM] = WEB,
    *others: Maintenance,
    groups: Iterable[Group] = (),
    new_id: Callable[[], str] | None = None,
    seen_by: str | None = None,
    **order: object,
) -> list[Explanation]:
    """Return the previews of an order for `vms`, next to other maintenance."""
    chosen = [*vms]
    slice_ = a_slice(vms=[*WEB, *chosen], maintenances=others, groups=groups)
    names = tuple(vm.name for vm in chosen)
    requested = an_order(vms=names, **order)  # type: ignore[arg-type]  # fields by name
    step = announce(
        slice_, a_context(new_id=new_id or preview_ids()), requested, chosen
    )
    ids = [item.maintenance for item in step.facts if isinstance(item, Announced)]
    return [
        explain_preview(step.slice, step.slice.maintenance(item), NOON, RULES, seen_by)
        for item in ids
    ]


def text(explanation: Explanation) -> str:
    return f"{explanation.summary} {explanation.waits} {explanation.hint}"


def blockers_in(explanation: Explanation) -> list[str]:
    return [wait.text for wait in explanation.waits if wait.kind == "blocker"]


def test_the_missing_approver_is_named_without_an_id() -> None:
    (preview,) = previews_of(WEB[:1])
    approval, time = preview.waits
    assert preview.summary == (
        "The reboot of web-0 would be announced with NotBefore 2026-01-05 12:15:00 UTC."
    )
    assert approval.text == "Waiting for approval from group web."
    assert [remedy.text for remedy in approval.unblocked_by] == [
        "any VM in group web approves"
    ]
    assert time.until == NOON + 15 * MINUTE
    assert preview.starts_at_latest == NOON + 15 * MINUTE


def test_maintenance_in_one_group_runs_in_sequence() -> None:
    first, second, third = previews_of()
    assert blockers_in(first) == []
    assert second.starts_at_latest is None
    rule = (
        "Only one update domain per group can be under maintenance at a time (group"
        " web)."
    )
    assert blockers_in(second) == [f"Will wait for the reboot of web-0. {rule}"]
    assert blockers_in(third) == [f"Will wait for the reboot of web-1. {rule}"]


def test_maintenance_in_different_groups_runs_independently() -> None:
    previews = previews_of([WEB[0], a_vm("db-0", group="db", update_domain=1)])
    assert [blockers_in(preview) for preview in previews] == [[], []]


def test_already_announced_maintenance_runs_first_and_is_named() -> None:
    event = an_event(group="web", resources=("web-2",), update_domain=2)
    (preview,) = previews_of(
        WEB[:1], a_maintenance("OLD", events=[event], not_before=SOON)
    )
    (_, _, blocker) = preview.waits
    assert blocker.maintenance == "OLD"
    assert blocker.text.startswith("Will wait for the reboot of web-2. ")


def test_later_maintenance_does_not_block() -> None:
    event = an_event(group="web", resources=("web-2",), update_domain=2)
    later = a_maintenance("LATER", events=[event], not_before=NOON + 60 * MINUTE)
    (preview,) = previews_of(WEB[:1], later)
    assert blockers_in(preview) == []


def test_maintenance_in_the_same_update_domain_does_not_block() -> None:
    event = an_event(group="web", resources=("web-9",), update_domain=0)
    (preview,) = previews_of(
        WEB[:1], a_maintenance("OLD", events=[event], not_before=SOON)
    )
    assert blockers_in(preview) == []


def test_started_maintenance_blocks_already() -> None:
    event = an_event(group="web", resources=("web-2",), update_domain=2)
    running = a_maintenance("RUN", events=[event], phase=Phase.STARTED)
    (preview,) = previews_of(WEB[:1], running)
    (_, _, blocker) = preview.waits
    assert blocker.maintenance == "RUN"
    assert blocker.text.startswith("Waiting for the reboot of web-2, which started at ")


@pytest.mark.parametrize("phase", [Phase.SCHEDULED, Phase.STARTED])
def test_group_sees_neither_hosts_nor_other_groups(phase: Phase) -> None:
    events = [
        an_event("E1", group="web", resources=("web-2",), update_domain=2),
        an_event("E2", group="db", resources=("db-0",)),
    ]
    other = a_maintenance(
        "OLD", host="host-a", events=events, phase=phase, not_before=SOON
    )
    (preview,) = previews_of(WEB[:1], other, seen_by="web")
    (blocker,) = blockers_in(preview)
    assert "reboot of web-2" in blocker
    for secret in ("host-a", "db-0"):
        assert secret not in text(preview)


def test_an_emergency_would_start_immediately_and_block_the_next() -> None:
    first, second, _ = previews_of(emergency=True, reason="smoke")
    assert first.summary == "The reboot of web-0 would start immediately."
    assert (
        second.summary
        == "The reboot of web-1 would be due immediately but would be blocked."
    )
    assert blockers_in(second)[0].startswith(
        "Waiting for the reboot of web-0, which started at "
    )


def test_deletions_do_not_block_each_other() -> None:
    previews = previews_of(type_=EventType.TERMINATE, groups=[a_group("web")])
    assert [blockers_in(preview) for preview in previews] == [[], [], []]


def test_an_immediate_start_names_each_blocker_once() -> None:
    *_, third = previews_of(emergency=True, reason="smoke")
    assert len(blockers_in(third)) == len({*blockers_in(third)}) == 2
    assert "reboot of web-1. It was announced earlier" in blockers_in(third)[1]


def test_sentences_contain_no_ids() -> None:
    for preview in (*previews_of(), *previews_of(emergency=True, reason="smoke")):
        assert "?" not in text(preview)
        assert "forewarn" not in text(preview)


def test_announced_maintenance_is_identified_by_its_label() -> None:
    named = iter(f"ID{number}" for number in range(100))
    _, second, _ = previews_of(new_id=lambda: next(named))
    assert second.waits[-1].maintenance == "m-1"
