"""Keys of `expect`, `fault` and `throughout` in a scenario file, as tables."""

from collections.abc import Sequence

from forewarn.errors import InvalidInput
from forewarn.server.faults import Fault, FaultKind, FaultOn, check
from forewarn.testing import kinds
from forewarn.testing import scenario as s
from forewarn.testing.keys import Form, Key, Row
from forewarn.testing.known import Known
from forewarn.testing.scenario import Demand

# --- expect ------------------------------------------------------------------

_EXPECT = {
    Demand.SEEN: "the program reads a document that shows the event",
    Demand.APPROVED: "the event is approved",
    Demand.NOT_APPROVED: "the event is not approved",
    Demand.POLLED: "the program asks for events, from now on",
    Demand.MARKED: "the program makes a mark",
    Demand.RUNNING: "the program has not ended",
    Demand.ENDED: "the program has ended",
}
EVENT = Key(name="event", kind=kinds.EVENT, help="which event is meant", is_needed=True)
WITHIN = Key(
    name="within", kind=kinds.REAL, help="how long it may take; if absent, `patience`"
)
BY = Key(name="by", kind=kinds.VM, help="the VM that must have approved")
AFTER_MARK = Key(
    name="after_mark",
    kind=kinds.TEXT,
    help="the mark that must be made after the announcement and before the approval",
)
FOR = Key(name="for", kind=kinds.REAL, help="how long it must stay so; if absent, 0s")
TIMES = Key(
    name="times", kind=kinds.whole(1, 10_000), help="how often; if absent, once"
)
MARK = Key(name="mark", kind=kinds.TEXT, help="which mark", is_needed=True)
CODE = Key(name="code", kind=kinds.whole(0, 255), help="its exit code; if absent, any")

_OF_DEMAND: dict[Demand, tuple[Key[object], ...]] = {
    Demand.SEEN: (EVENT, WITHIN),
    Demand.APPROVED: (EVENT, BY, AFTER_MARK, WITHIN),
    Demand.NOT_APPROVED: (EVENT, FOR),
    Demand.POLLED: (TIMES, WITHIN),
    Demand.MARKED: (MARK, WITHIN),
    Demand.RUNNING: (),
    Demand.ENDED: (CODE, WITHIN),
}


def expectations(patience: float) -> Sequence[Form]:
    """Return the forms of `expect`; `patience` is the default wait in seconds."""
    return [_expectation(demand, patience) for demand in Demand]


def _expectation(demand: Demand, patience: float) -> Form:
    verb = Key(
        name="expect", kind=kinds.one_of(demand), help=_EXPECT[demand], is_needed=True
    )

    def make(row: Row, known: Known) -> s.Step:
        event, by = row.get(EVENT), row.get(BY)
        _check_sight(demand, event, by, known)
        return s.Expect(
            demand=demand,
            seconds=_seconds(demand, row, patience),
            event=event,
            by=by,
            after_mark=row.get(AFTER_MARK),
            mark=row.get(MARK),
            times=row.get(TIMES) or 1,
            code=row.get(CODE),
        )

    return Form(verb=verb, keys=_OF_DEMAND[demand], make=make)


def _seconds(demand: Demand, row: Row, patience: float) -> float:
    if WITHIN not in _OF_DEMAND[demand]:
        return row.get(FOR) or 0.0
    within = row.get(WITHIN)
    return patience if within is None else within


def _check_sight(
    demand: Demand, event: str | None, by: str | None, known: Known
) -> None:
    """Reject expectations that can never be met."""
    if event is None:
        return
    if demand is Demand.SEEN and known.vm and not known.sees(known.vm, event):
        raise InvalidInput(
            f'the program speaks for {known.vm}, which does not see "{event}"'
        )
    if by is not None and not known.sees(by, event):
        raise InvalidInput(f'{by} does not see "{event}", so it cannot approve it')


# --- faults ------------------------------------------------------------------

_SLOW = (FaultKind.SLOW_FIRST_CALL, FaultKind.SLOW)
_ASKS_TO_WAIT = (FaultKind.TOO_MANY, FaultKind.UNAVAILABLE)
_REFUSED = FaultKind.REFUSED
_REST = tuple(
    each for each in FaultKind if each not in (*_SLOW, *_ASKS_TO_WAIT, _REFUSED)
)

COUNT = Key(
    name="count",
    kind=kinds.whole(1, 1_000_000),
    help="how many requests it befalls; if absent, all",
)
PROBABILITY = Key(
    name="probability",
    kind=kinds.SHARE,
    help="with which it befalls a request; if absent, 1",
)
LASTS = Key(
    name="for", kind=kinds.REAL, help="how long it lasts; if absent, until `clear`"
)
VMS = Key(
    name="vms",
    kind=kinds.VMS,
    help="whose requests it befalls; if absent, everybody's",
)
ON = Key(
    name="on",
    kind=kinds.one_of(*FaultOn),
    help="which requests it befalls; if absent, any",
)
DELAY = Key(name="delay", kind=kinds.REAL, help="how late the answer is; if absent, 5s")
RETRY_AFTER = Key(
    name="retry_after",
    kind=kinds.whole(0, 86_400),
    help="seconds that the answer asks to wait; if absent, 1",
)


#: Keys that choose the requests to which a fault applies.
_CHOICE: tuple[Key[object], ...] = (COUNT, PROBABILITY, VMS, ON)


def _fault(words: tuple[FaultKind, ...], helps: str, *more: Key[object]) -> Form:
    verb = Key(name="fault", kind=kinds.one_of(*words), help=helps, is_needed=True)
    plain = Fault(kind=words[0])

    def make(row: Row, _: Known) -> s.Step:
        delay, retry_after = row.get(DELAY), row.get(RETRY_AFTER)
        fault = Fault(
            kind=row.must(verb),
            on=row.get(ON) or FaultOn.ANY,
            vms=row.get(VMS) or (),
            count=row.get(COUNT),
            probability=row.get(PROBABILITY) or plain.probability,
            seconds=row.get(LASTS),
            delay=plain.delay if delay is None else delay,
            retry_after=plain.retry_after if retry_after is None else retry_after,
        )
        return s.SetFault(fault=check(fault))

    return Form(verb=verb, keys=(*more, LASTS), make=make)


CLEAR = Key(
    name="clear",
    kind=kinds.word("faults"),
    help="let the service behave again",
    is_needed=True,
)

FAULTS: tuple[Form, ...] = (
    _fault(_SLOW, "let the service answer late", DELAY, *_CHOICE),
    _fault(_ASKS_TO_WAIT, "let the service ask for patience", RETRY_AFTER, *_CHOICE),
    _fault(_REST, "let the service misbehave", *_CHOICE),
    _fault((_REFUSED,), "let nobody listen, whoever asks"),
    Form(verb=CLEAR, make=lambda _row, _known: s.ClearFaults()),
)

# --- expectations for the whole scenario -------------------------------------

KEEPS_RUNNING = Key(
    name="keeps_running",
    kind=kinds.FLAG,
    help='it does not end by itself; if absent, `true` unless a step expects "ended"',
)
POLLS_AT_LEAST_EVERY = Key(
    name="polls_at_least_every",
    kind=kinds.REAL,
    help="the longest time between two of its requests",
)
NEVER_APPROVES = Key(
    name="never_approves",
    kind=kinds.several(kinds.EVENT, "a list of names given by `as`", least=0),
    help="events that it must leave alone",
)
APPROVES_NOTHING = Key(
    name="approves_nothing", kind=kinds.FLAG, help="it must leave all events alone"
)
APPROVES_ONLY_ITS_OWN = Key(
    name="approves_only_its_own",
    kind=kinds.FLAG,
    help="it must leave alone what does not list the VM that it speaks for",
)

THROUGHOUT: tuple[Key[object], ...] = (
    KEEPS_RUNNING,
    POLLS_AT_LEAST_EVERY,
    NEVER_APPROVES,
    APPROVES_NOTHING,
    APPROVES_ONLY_ITS_OWN,
)


def throughout(row: Row, *, ends: bool) -> s.Throughout:
    """Read the permanent expectations; `ends`: a step expects the program to end."""
    keeps = row.get(KEEPS_RUNNING)
    if keeps and ends:
        raise InvalidInput(
            'a step expects the program to have "ended"; leave keeps_running out'
        )
    return s.Throughout(
        keeps_running=not ends if keeps is None else keeps,
        polls_at_least_every=row.get(POLLS_AT_LEAST_EVERY),
        never_approves=row.get(NEVER_APPROVES) or (),
        approves_nothing=row.get(APPROVES_NOTHING) or False,
        approves_only_its_own=row.get(APPROVES_ONLY_ITS_OWN) or False,
    )
