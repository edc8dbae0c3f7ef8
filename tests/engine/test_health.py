"""Health of the engine: failed writes, and commits that are not visible yet."""

from collections.abc import Callable, Mapping

import pytest
from tests.engine.support.system import FLEET, NOON, FailingStore, OpenStore, a_reboot
from tests.engine.test_idempotency import once

from forewarn.clocks import ManualClock
from forewarn.core.lifecycle.policy import Rules
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.health import HealthMonitor
from forewarn.engine.observations import PendingObservations
from forewarn.errors import NotApplied, Repeated, StoreDamaged, Unavailable

FULL = "the disk is full"


class FollowedEngine(Engine):
    """An engine whose commits may be invisible, and which counts changed health."""

    def __init__(self, store: FailingStore) -> None:
        clock = ManualClock(NOON)
        self.changes = 0
        self.real = 1000.0  # seconds of real time
        self.is_visible = True
        super().__init__(
            store,
            clock,
            rules=Rules(),
            observations=PendingObservations(),
            after_commit=self.show,
            health=HealthMonitor(clock, lambda: self.real, self.count),
        )

    def count(self) -> None:
        self.changes += 1

    def show(self, position: int) -> None:
        if not self.is_visible:
            raise Unavailable(f"saved at {position}, but not visible")


@pytest.fixture
def store(open_store: OpenStore) -> FailingStore:
    return FailingStore(open_store())


@pytest.fixture
def engine(store: FailingStore) -> FollowedEngine:
    engine = FollowedEngine(store)
    FleetCommands(engine).apply(FLEET, by="ops")
    return engine


def announce(engine: Engine) -> None:
    engine.announce(a_reboot("web-0"), by="ops")


# --- writes ------------------------------------------------------------------


def test_failed_write_is_known_until_a_probe_succeeds(
    engine: FollowedEngine, store: FailingStore, caplog: pytest.LogCaptureFixture
) -> None:
    store.failures = [Unavailable(FULL), Unavailable(FULL)]
    for _ in range(2):
        with pytest.raises(Unavailable):
            announce(engine)
    writes = engine.health.writes
    assert (writes.failing_since, writes.reason, writes.failures) == (1000.0, FULL, 2)
    assert [line for line in caplog.messages if FULL in line] == [
        f"store writes failed: {FULL}; commands return 503"
    ]
    engine.beat()
    announce(engine)
    assert engine.health.is_failing()
    engine.probe()
    assert not engine.health.is_failing()
    assert engine.changes == 2


def test_failed_probe_is_a_failed_write(
    engine: FollowedEngine, store: FailingStore
) -> None:
    store.failures = [Unavailable(FULL)]
    engine.probe()
    assert engine.health.writes.reason == FULL
    assert engine.health.needs_probe()


@pytest.mark.parametrize("failure", [StoreDamaged, Unavailable])
def test_log_reports_a_recovery_only_if_writes_are_healthy(
    engine: FollowedEngine,
    store: FailingStore,
    failure: type[Unavailable],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO", "forewarn")
    store.failures = [failure(FULL)]
    with pytest.raises(failure):
        announce(engine)
    engine.real += 60
    engine.beat()
    assert "recovered" not in caplog.text
    engine.probe()
    is_healthy = engine.health.writes.failing_since is None
    assert is_healthy is (failure is Unavailable)
    assert ("recovered" in caplog.text) is is_healthy


def test_refused_command_does_not_affect_health(engine: FollowedEngine) -> None:
    with pytest.raises(LookupError), engine.writing():
        raise LookupError
    assert engine.health.writes.failures == 0


# --- visibility --------------------------------------------------------------


def test_command_fails_if_its_commit_is_not_visible(engine: FollowedEngine) -> None:
    engine.is_visible = False
    with pytest.raises(Unavailable, match="not visible"):
        announce(engine)
    assert not engine.is_in_doubt
    assert engine.health.writes.failures == 0


def test_approval_without_effect_fails_if_the_first_one_is_not_visible(
    engine: FollowedEngine,
) -> None:
    (maintenance,) = engine.announce(a_reboot("web-0"), by="ops")
    event = maintenance.events[0].id
    engine.approve_as_vm("web-0", [event])
    engine.is_visible = False
    with pytest.raises(Unavailable, match="not visible"):
        engine.approve_as_vm("web-1", [event])


def test_repeated_request_fails_if_the_first_one_is_not_visible(
    engine: FollowedEngine,
) -> None:
    engine.announce(a_reboot("web-0"), by="ops", once=once())
    engine.is_visible = False
    with pytest.raises(Unavailable, match="not visible"):
        engine.announce(a_reboot("web-0"), by="ops", once=once())
    engine.is_visible = True
    with pytest.raises(Repeated):
        engine.announce(a_reboot("web-0"), by="ops", once=once())


def test_service_itself_continues_if_its_commit_is_not_visible(
    engine: FollowedEngine,
) -> None:
    engine.listen(["web"])  # makes facts
    engine.is_visible = False
    with engine.writing() as (transaction, context):
        groups, command = engine.announcement(transaction, a_reboot("web-0"))
        engine.decide(transaction, context, groups, command)


# --- retries -----------------------------------------------------------------


Command = Callable[[Engine, str], object]  # with the id of a scheduled event

COMMANDS: Mapping[str, Command] = {
    "announce": lambda engine, _: announce(engine),
    "approve as a VM": lambda engine, event: engine.approve_as_vm("web-1", [event]),
    "approve": lambda engine, event: engine.approve(event, by="ops"),
    "cancel": lambda engine, event: engine.cancel(event, by="ops"),
    "enable": lambda engine, _: engine.listen(["db"]),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS.keys())
def test_command_that_was_lost_before_its_commit_is_run_again(
    engine: FollowedEngine, store: FailingStore, command: Command
) -> None:
    (maintenance,) = engine.announce(a_reboot("web-0"), by="ops")
    before = len(store.facts(0, 100))
    store.failures = [NotApplied("the store does not respond")]
    command(engine, maintenance.events[0].id)
    assert store.failures == []
    assert len(store.facts(0, 100)) > before
    assert engine.health.writes.failing_since is None


def test_command_with_an_unknown_outcome_is_not_run_again(
    engine: FollowedEngine, store: FailingStore
) -> None:
    store.failures = [Unavailable("whether it was kept is unknown")]
    with pytest.raises(Unavailable):
        announce(engine)
    assert store.failures == []


def test_command_is_run_again_only_once(
    engine: FollowedEngine, store: FailingStore
) -> None:
    store.failures = [NotApplied("the store does not respond")] * 3
    with pytest.raises(NotApplied):
        announce(engine)
    assert len(store.failures) == 1
