"""Judge of how a connection parses a stream: on its own and against the oracles."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from tests.server.support.dialogs import ParsedResponse, byte_by_byte, read
from tests.server.support.http_oracles import (
    Message,
    ParseResult,
    by_h11,
    by_llhttp,
    field,
)
from tests.server.support.stream_differences import (
    H11_LEAVES_OTHERWISE,
    LLHTTP_LEAVES_OTHERWISE,
    ONLY_WE_REFUSE,
    Difference,
    known,
)
from tests.server.support.stream_driver import (
    ConnectionOutcome,
    RecordingHeadCache,
    cut,
    cut_anywhere,
    drive,
)
from tests.server.support.valid_streams import ValidRequest

from forewarn.server.metadata.transport.http1 import HeadCache

REFUSALS = (400, 413, 431, 505)
_LARGE = 4096  # bytes; larger streams are not sent byte by byte


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamResult:
    """Result for a stream, and everything that is wrong with it."""

    accepted: int
    refusal: int | None  # status; None if the rest was awaited or ignored
    complaints: tuple[str, ...]


def check_stream(stream: bytes, random: Random) -> StreamResult:
    """Send `stream` to a connection, split in several ways, and to the oracles."""
    strict, lax, heads = by_llhttp(stream), by_h11(stream), RecordingHeadCache()
    messages = (*strict.messages, *lax.messages)
    ends = [at for message in messages for at in (message.ends - 1, message.ends)]
    is_slow = len(stream) < _LARGE and random.random() < 0.3
    ours = drive(byte_by_byte(stream) if is_slow else cut(stream, ends), heads)
    responses = _read(ours.written, ours.methods)
    accepted = [_message(heads, ours, i) for i in range(len(ours.requests))]
    complaints = (
        *_depends_on_cuts(stream, ours, random),
        *_wrong_responses(stream, ours, responses),
        *_differs("llhttp", stream, accepted, strict, LLHTTP_LEAVES_OTHERWISE),
        *_differs("h11", stream, accepted, lax, H11_LEAVES_OTHERWISE),
        *_not_accepted(stream, ours, responses, strict, lax),
    )
    refused = len(responses) > len(accepted)
    return StreamResult(
        accepted=len(accepted),
        refusal=responses[-1].status if refused else None,
        complaints=complaints,
    )


def judge_good(sent: Sequence[ValidRequest], random: Random) -> StreamResult:
    """Judge requests that must be accepted with their intended meaning."""
    stream = b"".join(request_sent.wire for request_sent in sent)
    judgement = check_stream(stream, random)
    expected = [request_sent.meaning for request_sent in sent]
    actual = [
        (request.method, request.path, request.query, body, request.is_last)
        for request, body in drive([stream]).requests
    ]
    if actual == expected and judgement.refusal is None:
        return judgement
    complaint = (
        f"{stream!r} means {actual}, refused: {judgement.refusal}; not {expected}"
    )
    return replace(judgement, complaints=(*judgement.complaints, complaint))


@lru_cache(maxsize=4096)
def _read(written: bytes, methods: tuple[str, ...]) -> tuple[ParsedResponse, ...]:
    return tuple(read(written, methods))


def shortest(stream: bytes, is_wrong: Callable[[bytes], bool]) -> bytes:
    """Remove everything from `stream` that is not needed for it to be wrong."""
    size = len(stream) // 2
    while size:
        at = 0
        while at < len(stream):
            shorter = stream[:at] + stream[at + size :]
            if is_wrong(shorter):
                stream = shorter
            else:
                at += size
        size //= 2
    return stream


# --- on its own --------------------------------------------------------------


def _depends_on_cuts(
    stream: bytes, ours: ConnectionOutcome, random: Random
) -> Iterator[str]:
    memo = HeadCache()
    ways = {
        "whole": drive([stream], memo),
        "known before": drive([stream], memo),
        "cut": drive(cut_anywhere(random, stream), memo),
        "late responses": drive(cut_anywhere(random, stream), memo, is_lazy=True),
    }
    for way, other in ways.items():
        if other.written != ours.written:
            yield f"{way}: {other.written!r} is the response, not {ours.written!r}"
        if other.requests != ours.requests:
            yield f"{way}: {other.requests} are the requests, not {ours.requests}"
        if other.state is not ours.state:
            yield f"{way}: {other.state} at the end, not {ours.state}"
        if not other.is_deaf:
            yield f"{way}: it goes on after its end"


def _wrong_responses(
    stream: bytes, ours: ConnectionOutcome, said: Sequence[ParsedResponse]
) -> Iterator[str]:
    answers, refusals = said[: len(ours.requests)], said[len(ours.requests) :]
    if [answer.status for answer in answers] != [200] * len(ours.requests):
        yield f"{len(ours.requests)} requests get {answers}"
    if any(request.is_last for request, _ in ours.requests[:-1]):
        yield "it goes on after the last request"
    if not refusals:
        return
    if len(refusals) > 1 or refusals[0].status not in REFUSALS:
        yield f"it is refused by {refusals}"
    if refusals[0].header(b"connection") != b"close" or ours.state is not None:
        yield "it is refused, and goes on"
    left = stream[ours.ends[-1] if ours.ends else 0 :]
    if re.match(rb"(\r\n){0,4}HEAD ", left) and refusals[0].body:
        yield "a HEAD is refused with a body"


# --- against the oracles -----------------------------------------------------


def _message(
    heads: RecordingHeadCache, ours: ConnectionOutcome, number: int
) -> Message:
    """Return an accepted request in the form of the oracles."""
    request, body = ours.requests[number]
    head = heads.read_so_far[number].removesuffix(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    method, target, version = first.split(b" ")
    pairs = (line.partition(b":") for line in lines)
    return Message(
        method=method if method == request.method.encode() else b"?",
        target=target,
        version=version.removeprefix(b"HTTP/"),
        fields=tuple(field(name, value) for name, _, value in pairs),
        body=body,
        ends=ours.ends[number],
        stays=not request.is_last,
    )


def _differs(
    name: str,
    stream: bytes,
    ours: Sequence[Message],
    theirs: ParseResult,
    leaves_otherwise: Sequence[Difference],
) -> Iterator[str]:
    begins = 0
    for i, message in enumerate(ours):
        wire, begins = stream[begins : message.ends], message.ends
        if i >= len(theirs.messages):
            yield f"{name} does not accept {wire!r}: {theirs.refusal}"
            return
        other = theirs.messages[i]
        if other.is_cut_off:
            return
        why = known(ONLY_WE_REFUSE, wire, other)
        if why is not None and why.is_sharp:
            yield f"we accept {why.what}: {wire!r}"
        alike = replace(other, stays=message.stays, trailers=())
        if alike != message:
            yield f"{name} reads {wire!r} as {other}, not {message}"
        if message.stays is not other.stays and not known(
            leaves_otherwise, wire, other
        ):
            yield f"{name} leaves otherwise after {wire!r}"


def _not_accepted(
    stream: bytes,
    ours: ConnectionOutcome,
    said: Sequence[ParsedResponse],
    strict: ParseResult,
    lax: ParseResult,
) -> Iterator[str]:
    """Check the first request that we did not accept, if any."""
    count = len(ours.requests)
    strictly, laxly = strict.messages[count:], lax.messages[count:]
    rest = stream[ours.ends[-1] if ours.ends else 0 :]
    if ours.state is not None:
        if strictly and not strictly[0].is_cut_off:
            yield f"only we wait, not llhttp: {rest!r}"
        if laxly:
            yield f"only we wait, not h11: {rest!r}"
    elif len(said) > count and strictly and laxly:
        if strictly[0].ends != laxly[0].ends:
            return
        wire = rest[: strictly[0].ends - len(stream) or None]
        why = known(ONLY_WE_REFUSE, wire, strictly[0])
        if why is None:
            yield f"only we refuse {wire!r}: {said[-1]}"
        elif why.status != said[-1].status:
            yield f"{why.what} is refused with {said[-1].status}: {wire!r}"
