"""Tables of the keys of `expect`, `fault` and `throughout` in scenario files."""

from collections.abc import Container, Sequence

from forewarn.core.faults import Fault, FaultKind, FaultOn, FaultTrait, check_fault
from forewarn.errors import InvalidInput
from forewarn.testing.scenario import model as s
from forewarn.testing.scenario import values
from forewarn.testing.scenario.model import Expectation
from forewarn.testing.scenario.names import StepNames
from forewarn.testing.scenario.values import StepForm, StepKey, StepTable

# --- expect ------------------------------------------------------------------

_HELP = {
    Expectation.SEEN: "the program receives a document with the event",
    Expectation.APPROVED: "the event is approved",
    Expectation.NOT_APPROVED: "the event is not approved",
    Expectation.POLLED: "the program polls again and receives the current document",
    Expectation.MARKED: "the program makes a mark",
    Expectation.RUNNING: "the program has not ended",
    Expectation.ENDED: "the program has ended",
}
EVENT = StepKey(
    name="event", kind=values.EVENT, help="name of the event", is_needed=True
)
WITHIN = StepKey(
    name="within",
    kind=values.REAL_DURATION,
    help="time limit; default: the value of `patience`",
    field="seconds",
)
BY = StepKey(
    name="by",
    kind=values.VM,
    help="the VM that must approve the event; default: any VM",
)
AFTER_MARK = StepKey(
    name="after_mark",
    kind=values.TEXT,
    help="a mark that the program must make between the announcement and the approval",
)
FOR = StepKey(
    name="for",
    kind=values.REAL_DURATION,
    help="how long the event must stay unapproved; default: 0s, which checks only once",
    field="seconds",
)
TIMES = StepKey(
    name="times",
    kind=values.whole(1, 10_000),
    help="number of polls to wait for; default: 1",
)
MARK = StepKey(
    name="mark",
    kind=values.TEXT,
    help="name of the mark, which the program prints or sends",
    is_needed=True,
)
CODE = StepKey(
    name="code",
    kind=values.whole(0, 255),
    help="expected exit code; default: any exit code",
)

_KEYS: dict[Expectation, tuple[StepKey[object], ...]] = {
    Expectation.SEEN: (EVENT, WITHIN),
    Expectation.APPROVED: (EVENT, BY, AFTER_MARK, WITHIN),
    Expectation.NOT_APPROVED: (EVENT, FOR),
    Expectation.POLLED: (TIMES, WITHIN),
    Expectation.MARKED: (MARK, WITHIN),
    Expectation.RUNNING: (),
    Expectation.ENDED: (CODE, WITHIN),
}


def expectations(patience: float) -> Sequence[StepForm]:
    """Return the forms of `expect`; `patience` is the default wait in seconds."""
    return [_expectation(expectation, patience) for expectation in Expectation]


def _expectation(expectation: Expectation, patience: float) -> StepForm:
    verb = StepKey(
        name="expect",
        kind=values.one_of(expectation),
        help=_HELP[expectation],
        field="expectation",
    )
    seconds = patience if WITHIN in _KEYS[expectation] else 0.0

    def make(row: StepTable, names: StepNames) -> s.Step:
        step = s.ExpectStep(**{"seconds": seconds, **row.fields})
        _check_visible(step, names)
        return step

    return StepForm(verb=verb, keys=_KEYS[expectation], make=make)


def _check_visible(step: s.ExpectStep, names: StepNames) -> None:
    """Reject expectations that can never be met."""
    event, by = step.event, step.by
    if event is None:
        return
    is_seen = step.expectation is Expectation.SEEN
    if is_seen and names.vm and not names.sees(names.vm, event):
        raise InvalidInput(
            f'the program acts as {names.vm}, but "{event}" is not visible to that VM'
        )
    if by is not None and not names.sees(by, event):
        raise InvalidInput(
            f'{by} cannot approve "{event}" because the event is not visible to it'
        )


# --- faults ------------------------------------------------------------------

COUNT = StepKey(
    name="count",
    kind=values.whole(1, 1_000_000),
    help="number of requests to affect; default: no limit",
)
PROBABILITY = StepKey(
    name="probability",
    kind=values.PROBABILITY,
    help="probability that a request is affected; default: 1",
)
DURATION = StepKey(
    name="duration",
    kind=values.REAL_DURATION,
    help="how long the fault lasts; default: until a `clear` step",
)
VMS = StepKey(
    name="vms",
    kind=values.VMS,
    help="VMs whose requests are affected; default: all VMs",
)
ON = StepKey(
    name="on",
    kind=values.one_of(*FaultOn),
    help="kind of requests to affect; default: any kind",
)
DELAY = StepKey(
    name="delay",
    kind=values.REAL_DURATION,
    help="how long the response is delayed; default: 5s",
)
RETRY_AFTER = StepKey(
    name="retry_after",
    kind=values.whole(0, 86_400),
    help="value of the Retry-After header, in seconds; default: 1",
)


#: Keys that choose which requests a fault applies to.
_FILTERS: tuple[StepKey[object], ...] = (COUNT, PROBABILITY, VMS, ON)


def _fault(
    traits: Container[FaultTrait | None], help_text: str, *more: StepKey[object]
) -> StepForm:
    kinds = [kind for kind in FaultKind if kind.trait in traits]
    verb = StepKey(
        name="fault",
        kind=values.one_of(*kinds),
        help=help_text,
        field="kind",
    )

    def make(row: StepTable, _: StepNames) -> s.Step:
        return s.SetFaultStep(fault=check_fault(Fault(**row.fields)))

    return StepForm(verb=verb, keys=(*more, DURATION), make=make)


CLEAR = StepKey(
    name="clear",
    kind=values.one_of("faults"),
    help="clear all faults",
)

FAULTS: tuple[StepForm, ...] = (
    _fault([FaultTrait.DELAY], "delay responses", DELAY, *_FILTERS),
    _fault(
        [FaultTrait.RETRY_AFTER],
        "reject requests with Retry-After",
        RETRY_AFTER,
        *_FILTERS,
    ),
    _fault([None, FaultTrait.READS], "return errors or invalid responses", *_FILTERS),
    _fault([FaultTrait.SERVICE], "refuse connections from all VMs"),
    StepForm(verb=CLEAR, make=lambda _row, _names: s.ClearFaultsStep()),
)

# --- expectations for the whole scenario -------------------------------------

KEEPS_RUNNING = StepKey(
    name="keeps_running",
    kind=values.FLAG,
    help=(
        "if `true`, the program must not end; default: `true` unless a step expects"
        ' "ended"'
    ),
)
POLLS_AT_LEAST_EVERY = StepKey(
    name="polls_at_least_every",
    kind=values.REAL_DURATION,
    help="maximum time between two polls",
)
NEVER_APPROVES = StepKey(
    name="never_approves",
    kind=values.several(values.EVENT, "a list of names set with `as`", least=0),
    help="announcements whose events the program must not approve",
)
APPROVES_NOTHING = StepKey(
    name="approves_nothing",
    kind=values.FLAG,
    help="if `true`, the program must not approve any event",
)
APPROVES_ONLY_ITS_OWN = StepKey(
    name="approves_only_its_own",
    kind=values.FLAG,
    help="if `true`, the program must approve only events that list its VM",
)

THROUGHOUT: tuple[StepKey[object], ...] = (
    KEEPS_RUNNING,
    POLLS_AT_LEAST_EVERY,
    NEVER_APPROVES,
    APPROVES_NOTHING,
    APPROVES_ONLY_ITS_OWN,
)


def throughout(row: StepTable, *, ends: bool) -> s.Throughout:
    """Read the table. `ends` means that a step expects the program to end."""
    if row.get(KEEPS_RUNNING) and ends:
        raise InvalidInput(
            'a step expects the program to have "ended"; remove keeps_running'
        )
    return s.Throughout(**{"keeps_running": not ends, **row.fields})
