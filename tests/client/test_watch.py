"""Documents in, changes out."""

from tests.client.builders import NOON, a_document, an_event

from forewarn.client.watch import compare

SCHEDULED = an_event(id="A", not_before=NOON)
STARTED = an_event(id="A", status="Started")


def test_the_first_document_is_all_new() -> None:
    change = compare(None, a_document(SCHEDULED, incarnation=9))
    assert (change.incarnation, change.events) == (9, (SCHEDULED,))
    assert change.appeared == (SCHEDULED,)
    assert (change.started, change.completed, change.canceled) == ((), (), ())


def test_an_event_that_is_started_when_first_seen_has_appeared_and_started() -> None:
    change = compare(a_document(), a_document(STARTED))
    assert (change.appeared, change.started) == ((STARTED,), (STARTED,))


def test_an_event_that_starts_has_not_changed_otherwise() -> None:
    change = compare(a_document(SCHEDULED), a_document(STARTED))
    assert change.started == (STARTED,)
    assert (change.appeared, change.changed) == ((), ())


def test_an_event_that_is_gone_after_it_started_was_completed() -> None:
    change = compare(a_document(STARTED), a_document())
    assert (change.completed, change.canceled) == ((STARTED,), ())


def test_an_event_that_is_gone_and_never_started_was_canceled() -> None:
    change = compare(a_document(SCHEDULED), a_document())
    assert (change.completed, change.canceled) == ((), (SCHEDULED,))


def test_a_new_number_alone_is_no_news() -> None:
    before = a_document(SCHEDULED, incarnation=40)
    assert not compare(before, a_document(SCHEDULED, incarnation=1)).is_news


def test_an_event_that_is_under_way_has_not_started_again() -> None:
    assert not compare(a_document(STARTED), a_document(STARTED)).is_news


def test_another_content_is_news_though_the_number_is_the_same() -> None:
    other = an_event(id="B")
    change = compare(a_document(SCHEDULED), a_document(other))
    assert (change.appeared, change.canceled) == ((other,), (SCHEDULED,))


def test_a_field_that_is_not_known_here_is_a_change() -> None:
    before = an_event(raw={"Mood": "calm"})
    after = an_event(raw={"Mood": "grim"})
    assert compare(a_document(before), a_document(after)).changed == (after,)


def test_a_status_that_goes_back_is_a_change() -> None:
    change = compare(a_document(STARTED), a_document(SCHEDULED))
    assert change.changed == (SCHEDULED,)
