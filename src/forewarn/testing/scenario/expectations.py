"""Keys of `expect`, `fault` and `throughout` in a scenario file, as tables."""

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
    Expectation.SEEN: "the program reads a document that shows the event",
    Expectation.APPROVED: "the event is approved",
    Expectation.NOT_APPROVED: "the event is not approved",
    Expectation.POLLED: "the program asks for events, from now on",
    Expectation.MARKED: "the program makes a mark",
    Expectation.RUNNING: "the program has not ended",
    Expectation.ENDED: "the program has ended",
}
EVENT = StepKey(
    name="event", kind=values.EVENT, help="which event is meant", is_needed=True
)
WITHIN = StepKey(
    name="within",
    kind=values.REAL_DURATION,
    help="how long it may take; if absent, `patience`",
    field="seconds",
)
BY = StepKey(name="by", kind=values.VM, help="the VM that must have approved")
AFTER_MARK = StepKey(
    name="after_mark",
    kind=values.TEXT,
    help="the mark that must be made after the announcement and before the approval",
)
FOR = StepKey(
    name="for",
    kind=values.REAL_DURATION,
    help="how long it must stay so; if absent, 0s",
    field="seconds",
)
TIMES = StepKey(
    name="times", kind=values.whole(1, 10_000), help="how often; if absent, once"
)
MARK = StepKey(name="mark", kind=values.TEXT, help="which mark", is_needed=True)
CODE = StepKey(
    name="code", kind=values.whole(0, 255), help="its exit code; if absent, any"
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
            f'the program speaks for {names.vm}, which does not see "{event}"'
        )
    if by is not None and not names.sees(by, event):
        raise InvalidInput(f'{by} does not see "{event}", so it cannot approve it')


# --- faults ------------------------------------------------------------------

COUNT = StepKey(
    name="count",
    kind=values.whole(1, 1_000_000),
    help="how many requests it befalls; if absent, all",
)
PROBABILITY = StepKey(
    name="probability",
    kind=values.PROBABILITY,
    help="with which it befalls a request; if absent, 1",
)
LASTS = StepKey(
    name="for",
    kind=values.REAL_DURATION,
    help="how long it lasts; if absent, until `clear`",
    field="seconds",
)
VMS = StepKey(
    name="vms",
    kind=values.VMS,
    help="whose requests it befalls; if absent, everybody's",
)
ON = StepKey(
    name="on",
    kind=values.one_of(*FaultOn),
    help="which requests it befalls; if absent, any",
)
DELAY = StepKey(
    name="delay",
    kind=values.REAL_DURATION,
    help="how late the answer is; if absent, 5s",
)
RETRY_AFTER = StepKey(
    name="retry_after",
    kind=values.whole(0, 86_400),
    help="seconds that the answer asks to wait; if absent, 1",
)


#: Keys that choose the requests to which a fault applies.
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

    return StepForm(verb=verb, keys=(*more, LASTS), make=make)


CLEAR = StepKey(
    name="clear",
    kind=values.one_of("faults"),
    help="let the service behave again",
)

FAULTS: tuple[StepForm, ...] = (
    _fault([FaultTrait.DELAY], "let the service answer late", DELAY, *_FILTERS),
    _fault(
        [FaultTrait.RETRY_AFTER],
        "let the service ask for patience",
        RETRY_AFTER,
        *_FILTERS,
    ),
    _fault([None, FaultTrait.READS], "let the service misbehave", *_FILTERS),
    _fault([FaultTrait.SERVICE], "let nobody listen, whoever asks"),
    StepForm(verb=CLEAR, make=lambda _row, _names: s.ClearFaultsStep()),
)

# --- expectations for the whole scenario -------------------------------------

KEEPS_RUNNING = StepKey(
    name="keeps_running",
    kind=values.FLAG,
    help='it does not end by itself; if absent, `true` unless a step expects "ended"',
)
POLLS_AT_LEAST_EVERY = StepKey(
    name="polls_at_least_every",
    kind=values.REAL_DURATION,
    help="the longest time between two of its requests",
)
NEVER_APPROVES = StepKey(
    name="never_approves",
    kind=values.several(values.EVENT, "a list of names given by `as`", least=0),
    help="events that it must leave alone",
)
APPROVES_NOTHING = StepKey(
    name="approves_nothing", kind=values.FLAG, help="it must leave all events alone"
)
APPROVES_ONLY_ITS_OWN = StepKey(
    name="approves_only_its_own",
    kind=values.FLAG,
    help="it must leave alone what does not list the VM that it speaks for",
)

THROUGHOUT: tuple[StepKey[object], ...] = (
    KEEPS_RUNNING,
    POLLS_AT_LEAST_EVERY,
    NEVER_APPROVES,
    APPROVES_NOTHING,
    APPROVES_ONLY_ITS_OWN,
)


def throughout(row: StepTable, *, ends: bool) -> s.Throughout:
    """Read the permanent expectations; `ends`: a step expects the program to end."""
    if row.get(KEEPS_RUNNING) and ends:
        raise InvalidInput(
            'a step expects the program to have "ended"; leave keeps_running out'
        )
    return s.Throughout(**{"keeps_running": not ends, **row.fields})
