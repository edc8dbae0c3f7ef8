"""Runner for rows: it checks the API and all documents after each step."""

import re
import tomllib
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from tests.server.support.service import ReceivedResponse
from tests.stories.support.harness import FLEET, ServiceHarness, rfc3339
from tests.stories.support.oracle import (
    VERSIONS,
    Audience,
    ModelMaintenance,
    audiences,
    normal,
)
from tests.stories.support.rows import Advance, Approve, Do, Post, Row, Step

GUID = re.compile("[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")


@dataclass(slots=True, kw_only=True)
class RowRun:
    """A row that is being run."""

    harness: ServiceHarness
    row: Row
    kept: dict[str, ModelMaintenance] = field(default_factory=dict)
    audiences: list[Audience] = field(
        default_factory=lambda: audiences(tomllib.loads(FLEET.read_text()))
    )
    gone: set[str] = field(default_factory=set)
    #: ETags by first VM of the audience, epoch and incarnation.
    tags: dict[tuple[str, int, int], str] = field(default_factory=dict)

    def step(self, step: Step) -> None:
        """Perform a step, then check everything."""
        response = self._do(step.do)
        now = self.harness.now
        created = self._change(step, now)
        self.gone.update(step.gone)
        self._check_maintenances()
        for audience in self.audiences:
            audience.publish([*self.kept.values()])
        if isinstance(step.do, Post):
            self._check_answer(response, step.do, created)
        for audience in self.audiences:
            self._check_documents(audience, now)
        self._check_maintenances()

    def _change(self, step: Step, now: datetime) -> list[str]:
        """Apply the changes that the row expects, and return the new labels."""
        new = [label for label in step.then if label not in self.kept]
        for label, phase in step.then.items():
            act = self.row.acts[label]
            kept = self.kept.setdefault(
                label, ModelMaintenance(act=act, phase="", announced=now)
            )
            kept.move(phase, now)
            if label in new and act.approved is not None:
                kept.approvals = {
                    number: _approval(None, act.approved, now)
                    for number in range(len(act.events))
                }
        return new

    # --- actions -------------------------------------------------------------

    def _do(self, do: Do) -> ReceivedResponse | None:
        match do:
            case Post():
                response = self.harness.service.request("POST", do.path, do.body)
                assert response.status == do.status, response.body
                return response
            case Approve():
                self._approve(do)
            case Advance():
                self.harness.wait(do.seconds)
            case _:
                assert_never(do)
        return None

    def _approve(self, do: Approve) -> None:
        kept = self.kept[do.act]
        event = kept.ids[do.event]
        if do.vm is None:
            response = self.harness.post(f"events/{event}/approve")
        else:
            response = self.harness.service.approve_as(do.vm, event)
            self._asked(do.vm)
        assert response.status == 200, response.body
        by, via = (do.vm, "metadata") if do.vm else ("admin", "control")
        kept.approvals[do.event] = _approval(by, via, self.harness.now)

    def _asked(self, vm: str) -> None:
        (audience,) = [candidate for candidate in self.audiences if vm in candidate.vms]
        audience.record_poll(self.harness.now, [*self.kept.values()])

    # --- checks --------------------------------------------------------------

    def _check_maintenances(self) -> None:
        shown = self.harness.service.get("/v1/maintenances?limit=1000")["items"]
        assert len(shown) == len(self.kept)
        for view, kept in zip(shown, self.kept.values(), strict=True):
            kept.bind(view)
            assert all(GUID.fullmatch(event) for event in kept.ids)
            assert normal(view, kept) == kept.view()

    def _check_answer(
        self, response: ReceivedResponse | None, do: Post, made: list[str]
    ) -> None:
        assert response is not None
        labels = made or do.concerned
        shown = response.json["maintenances"]
        assert [view["id"] for view in shown] == [self.kept[name].id for name in labels]
        for view, label in zip(shown, labels, strict=True):
            bare = normal(view, self.kept[label])
            expected = self.kept[label].view()
            for event in (*bare["events"], *expected["events"]):
                del event["seen_by"]  # not part of this response
            assert bare == expected

    def _check_documents(self, audience: Audience, now: datetime) -> None:
        kept = [*self.kept.values()]
        for vm in audience.vms:
            if vm in self.gone:
                assert self.harness.poll(vm).status == 404
                continue
            audience.record_poll(now, kept)
            responses = self.harness.poll_versions(vm, VERSIONS)
            for version, seen in zip(VERSIONS, responses, strict=True):
                assert seen.status == 200
                assert seen.body == audience.document(kept, version)
                self._check_tag(audience, seen.tag)
            assert self.harness.poll(vm, tag=responses[-1].tag).status == 304
            for maintenance, number in audience.shares(kept):
                maintenance.seen.setdefault(number, set()).add(vm)

    def _check_tag(self, audience: Audience, tag: str | None) -> None:
        """Check that a document keeps its ETag, and that no other document has it."""
        assert tag is not None
        assert re.fullmatch('"[^"]+"', tag)
        key = (audience.vms[0], audience.epoch, audience.incarnation)
        assert self.tags.setdefault(key, tag) == tag
        of_mine = [other for who, other in self.tags.items() if who[0] == key[0]]
        assert of_mine.count(tag) == 1


def _approval(by: str | None, via: str, at: datetime) -> dict[str, str | None]:
    return {"approved_by": by, "approved_via": via, "approved_at": rfc3339(at)}


def run(harness: ServiceHarness, row: Row) -> RowRun:
    """Run `row` to its end, with all checks."""
    under_way = RowRun(harness=harness, row=row)
    for step in row.steps:
        under_way.step(step)
    return under_way
