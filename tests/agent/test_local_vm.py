"""VM identity, and the decision of its rules about an event."""

import time
from pathlib import Path

from tests.agent.support.events import NOON, an_event

from forewarn.agent.config.plan import (
    ApprovalPolicy,
    HookPoint,
    Plan,
    Rule,
    RuleScope,
    SharedApproval,
)
from forewarn.agent.identity import LocalVm
from forewarn.client.service_clock import ClockEstimate, ServiceClock
from forewarn.protocol.types import Document

RULE = Rule(
    name="mine",
    hooks={HookPoint.PREPARE: ("drain",)},
    parallel=True,
    approve=ApprovalPolicy.AT_ONCE,
    together=SharedApproval.WHEN_READY,
    ready="all",
)


def a_local_vm(
    *, name: str | None = None, rules: tuple[Rule, ...] = (RULE,)
) -> LocalVm:
    clock = ServiceClock()
    clock.update(ClockEstimate(date=NOON, at=time.monotonic(), rate=0.0))
    return LocalVm(Plan(state=Path(), name=name, rules=rules), clock, "host-0")


def test_the_configured_name_wins_over_the_learned_and_the_host_name() -> None:
    assert a_local_vm().name == "host-0"
    assert a_local_vm().learn("web-0") == "web-0"
    assert a_local_vm(name="db-0").learn("web-0") == "db-0"


def test_a_learned_name_is_kept() -> None:
    local_vm = a_local_vm()
    local_vm.learn("web-0")
    assert local_vm.learn(None) == "web-0"


def test_the_position_is_that_of_the_name_in_use() -> None:
    local_vm = a_local_vm()
    local_vm.learn("web-0")
    assert local_vm.position(["web-1", "WEB-0"]) == 1
    assert local_vm.position(["host-0"]) is None


def test_a_matching_rule_becomes_the_course_of_an_event() -> None:
    decision = a_local_vm().decide(an_event(), True, 900.0)
    plan = decision.plan
    assert plan is not None
    assert (plan.rule, plan.hooks, plan.parallel) == ("mine", RULE.hooks, True)
    assert (plan.approve, plan.together, plan.ready) == (
        ApprovalPolicy.AT_ONCE,
        SharedApproval.WHEN_READY,
        "all",
    )
    assert decision.why == ("it names this VM",)


def test_without_a_matching_rule_there_is_no_course() -> None:
    others = Rule(name="others", concerns=RuleScope.OTHERS)
    decision = a_local_vm(rules=(others,)).decide(an_event(), True, 900.0)
    assert decision.plan is None
    assert decision.why == ("rule others does not match: it names this VM",)


def test_a_name_mismatch_is_explained() -> None:
    local_vm = a_local_vm()
    assert "does not tell" in (local_vm.mismatch(None) or "")
    local_vm.learn("web-0")
    assert local_vm.mismatch(None) is None
    named = Document(incarnation=1, events=(an_event(resources=["host-0"]),))
    assert "host name" in (local_vm.mismatch(named) or "")
    assert "the name given is db-0" in (a_named_vm("db-0").mismatch(None) or "")


def a_named_vm(name: str) -> LocalVm:
    local_vm = a_local_vm(name=name)
    local_vm.learn("web-0")
    return local_vm
