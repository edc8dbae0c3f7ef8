"""Parsing of responses into values, or into errors with a hint about the remedy."""

import json
from datetime import UTC

from forewarn.client.http import Answer
from forewarn.client.instance import Instance, instance_from
from forewarn.client.reading import Reading
from forewarn.client.reckoning import Reckoning
from forewarn.errors import Malformed, Misunderstood, Refused
from forewarn.protocol.codec import decode, parse_date

_NOT_MODIFIED = 304
_YEARS = range(1970, 9000)  # of a plausible clock; later dates could overflow

#: Hints for each error status.
_ADVICE = {
    400: "the service finds the request wrong; asking again is of no use",
    403: "something between here and the service forbids it; is this a VM of it?",
    404: "the service does not know this VM, or is not a metadata service",
    405: "what answers is not a metadata service",
    410: "the service is being updated; ask again in a minute",
    429: "this VM asks too often; ask less often",
}
_REDIRECT = (
    "it sends its clients elsewhere, which no metadata service does; is the endpoint"
    " right, or does a proxy answer?"
)


# --- responses ---------------------------------------------------------------


def reading_of(answer: Answer, endpoint: str) -> Reading:
    """Parse the response to a request for the document."""
    is_same = answer.status == _NOT_MODIFIED
    if not is_same:
        check(answer, endpoint)
    is_blank = not is_same and not answer.body.strip()
    try:
        document = None if is_same else decode(answer.body)
    except Malformed as error:
        raise Misunderstood(_strange(answer, endpoint, str(error))) from error
    return Reading(
        document=document,
        tag=_tag(answer.headers.get("etag")),
        is_held="wait" in answer.headers.get("preference-applied", "").lower(),
        is_blank=is_blank,
        reckoning=reckoning_of(answer),
        answer=answer,
    )


def instance_of(answer: Answer, endpoint: str) -> Instance:
    """Parse the response to a request for the instance metadata."""
    check(answer, endpoint)
    try:
        return instance_from(json.loads(answer.body))
    except Malformed as error:
        raise Misunderstood(_strange(answer, endpoint, str(error))) from error
    except (ValueError, RecursionError) as error:
        why = "the body is not valid JSON"
        raise Misunderstood(_strange(answer, endpoint, why)) from error


def check(answer: Answer, endpoint: str) -> None:
    """Raise `Refused` unless the status is 2xx."""
    if 200 <= answer.status < 300:
        return
    advice = _ADVICE.get(answer.status, "")
    if 300 <= answer.status < 400:
        advice = _REDIRECT
    elif answer.status >= 500:
        advice = "the service has trouble of its own; ask again later"
    message = _said(answer.body)
    sentence = f"{endpoint} answered {answer.status}" + (
        f" ({message})" if message else ""
    )
    raise Refused(
        f"{sentence}: {advice}" if advice else sentence,
        answer.status,
        retry_after=_retry_after(answer),
    )


def _strange(answer: Answer, endpoint: str, why: str) -> str:
    kind = answer.headers.get("content-type", "").split(";")[0].strip()
    if kind == "text/html" or answer.body.lstrip()[:1] == b"<":
        return (
            f"{endpoint} answered with a page, not with JSON; is the endpoint right, or"
            " does a proxy answer?"
        )
    return f"{endpoint} does not answer as a metadata service does: {why}"


def _said(body: bytes) -> str | None:
    """Return the error message in the body of an error response."""
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError):
        return None
    message = plain.get("error") if isinstance(plain, dict) else None
    return message[:500] if isinstance(message, str) else None


def _tag(text: str | None) -> str | None:
    is_fit = text and text.isascii() and text.isprintable()
    return text if is_fit else None


# --- time --------------------------------------------------------------------


def reckoning_of(answer: Answer) -> Reckoning | None:
    """Return the service's clock from the Date header; None without a usable one."""
    date = parse_date(answer.headers.get("date"))
    if date is None or date.year not in _YEARS:
        return None
    rate = _rate(answer.headers.get("forewarn-clock", "").strip().lower())
    return Reckoning(date=date.astimezone(UTC), at=answer.at, rate=rate)


def _rate(text: str) -> float:
    if text == "manual":
        return 0.0
    try:
        rate = float(text)
    except ValueError:
        return 1.0
    return rate if 0 < rate < 1e9 else 1.0


def _retry_after(answer: Answer) -> float | None:
    """Return the seconds until the next attempt: Retry-After is seconds or a date."""
    text = answer.headers.get("retry-after", "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    moment, reckoning = parse_date(text), reckoning_of(answer)
    if moment is None or reckoning is None:
        return None
    return reckoning.wait_until(moment, answer.at)
