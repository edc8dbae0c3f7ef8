"""What would become of a maintenance, before it is announced."""

from collections.abc import Callable, Iterable

from tests.core.builders import (
    MINUTE,
    NOON,
    RULES,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    an_order,
)

from forewarn.core.announcing import announce
from forewarn.core.explaining import Explanation
from forewarn.core.facts import Announced
from forewarn.core.fleet import VM, Group
from forewarn.core.foreseeing import foresee
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.core.sentences import foreseen_ids
from forewarn.protocol.types import EventType

SOON = NOON + 5 * MINUTE
WEB = [a_vm(f"web-{number}", group="web", update_domain=number) for number in range(3)]


def foreseen(
    vms: Iterable[VM] = WEB,
    *others: Maintenance,
    groups: Iterable[Group] = (),
    new_id: Callable[[], str] | None = None,
    **order: object,
) -> list[Explanation]:
    """What is explained of an order for `vms`, beside others."""
    chosen = [*vms]
    slice_ = a_slice(vms=[*WEB, *chosen], maintenances=others, groups=groups)
    names = tuple(vm.name for vm in chosen)
    wanted = an_order(vms=names, **order)  # type: ignore[arg-type]  # fields by name
    step = announce(
        slice_,
        wanted,
        chosen,
        by="ops",
        new_id=new_id or foreseen_ids(),
        now=NOON,
        rules=RULES,
    )
    made = [each.maintenance for each in step.facts if isinstance(each, Announced)]
    return [
        foresee(step.slice, step.slice.maintenance(each), NOON, RULES) for each in made
    ]


def text(explanation: Explanation) -> str:
    said = [*explanation.sentences]
    said += [f"{wait.what} {wait.opened_by}" for wait in explanation.waits]
    return "\n".join(said)


def gates(explanation: Explanation) -> list[str]:
    return [wait.what for wait in explanation.waits if wait.kind == "gate"]


def test_who_has_to_approve_is_told_without_an_id() -> None:
    (one,) = foreseen(WEB[:1])
    opening, approval, time, latest = one.sentences
    assert opening == "Reboot of web-0 would be announced for 2026-01-05 12:15:00 UTC."
    assert approval == (
        "It waits for an approval: group web has not approved its event (web-0)."
        " Opened by any VM of group web, or an operator."
    )
    assert "its NotBefore" in time
    assert "12:15:00 UTC at the latest" in latest
    assert one.starts_at_latest == NOON + 15 * MINUTE


def test_acts_of_one_group_follow_each_other() -> None:
    first, second, third = foreseen()
    assert gates(first) == []
    assert second.starts_at_latest is None
    rule = "group web is touched in one update domain at a time, and the one before it"
    assert gates(second) == [f"{rule}, Reboot of web-0, comes first"]
    assert gates(third) == [f"{rule}, Reboot of web-1, comes first"]
    assert second.sentences[-2:] == (
        f"A gate will be shut: {rule}, Reboot of web-0, comes first."
        " Opened by the one before it, when it is over.",
        "When it starts at the latest depends on what comes first.",
    )


def test_acts_of_different_groups_do_not_follow_each_other() -> None:
    found = foreseen([WEB[0], a_vm("db-0", group="db", update_domain=1)])
    assert [gates(each) for each in found] == [[], []]


def test_what_is_announced_already_comes_first_by_its_name() -> None:
    event = an_event(group="web", resources=("web-2",), update_domain=2)
    (one,) = foreseen(WEB[:1], a_maintenance("OLD", events=[event], not_before=SOON))
    (gate,) = gates(one)
    assert "maintenance OLD, Reboot of web-2, comes first" in gate


def test_what_comes_later_is_not_waited_for() -> None:
    event = an_event(group="web", resources=("web-2",), update_domain=2)
    later = a_maintenance("LATER", events=[event], not_before=NOON + 60 * MINUTE)
    (one,) = foreseen(WEB[:1], later)
    assert gates(one) == []


def test_one_update_domain_is_touched_at_once() -> None:
    event = an_event(group="web", resources=("web-9",), update_domain=0)
    (one,) = foreseen(WEB[:1], a_maintenance("OLD", events=[event], not_before=SOON))
    assert gates(one) == []


def test_what_has_started_shuts_a_gate_already() -> None:
    event = an_event(group="web", resources=("web-2",), update_domain=2)
    running = a_maintenance("RUN", events=[event], phase=Phase.STARTED)
    (one,) = foreseen(WEB[:1], running)
    (gate,) = gates(one)
    assert "maintenance RUN" in gate
    assert "A gate is shut, too" in text(one)


def test_an_emergency_would_start_at_once_and_hold_the_next() -> None:
    first, second, _ = foreseen(emergency=True, reason="smoke")
    assert first.sentences[0] == "Reboot of web-0 would start at once."
    assert "Opened by the driver, or an operator." in text(first)
    assert second.sentences[0] == (
        "Reboot of web-1 would be due at once, but a gate is shut."
    )
    assert "at present by the one before it, Reboot of web-0, STARTED" in text(second)


def test_deletions_go_together_without_ids() -> None:
    found = foreseen(type_=EventType.TERMINATE, groups=[a_group("web")])
    assert [gates(each) for each in found] == [[], [], []]


def test_what_is_due_at_once_names_each_that_holds_it_once() -> None:
    *_, third = foreseen(emergency=True, reason="smoke")
    assert len(gates(third)) == len({*gates(third)}) == 2
    assert "Reboot of web-1, SCHEDULED" in gates(third)[1]


def test_no_sentence_holds_an_id() -> None:
    for each in (*foreseen(), *foreseen(emergency=True, reason="smoke")):
        assert "?" not in text(each)
        assert "`forewarn" not in text(each)


def test_a_maintenance_that_is_announced_is_called_by_its_id() -> None:
    named = iter(f"ID{number}" for number in range(100))
    _, second, _ = foreseen(new_id=lambda: next(named))
    assert "maintenance ID0, Reboot of web-0" in text(second)
