"""Document comparison: from two documents to a change."""

from tests.client.support.builders import NOON, a_document, an_event

from forewarn.client.changes import compare

SCHEDULED = an_event(id="A", not_before=NOON)
STARTED = an_event(id="A", status="Started")


def test_everything_in_the_first_document_is_new() -> None:
    change = compare(None, a_document(SCHEDULED, incarnation=9))
    assert (change.incarnation, change.events) == (9, (SCHEDULED,))
    assert change.appeared == (SCHEDULED,)
    assert (change.started, change.completed, change.canceled) == ((), (), ())


def test_an_event_first_seen_as_started_has_appeared_and_started() -> None:
    change = compare(a_document(), a_document(STARTED))
    assert (change.appeared, change.started) == ((STARTED,), (STARTED,))


def test_an_event_that_starts_is_not_otherwise_changed() -> None:
    change = compare(a_document(SCHEDULED), a_document(STARTED))
    assert change.started == (STARTED,)
    assert (change.appeared, change.changed) == ((), ())


def test_a_started_event_that_disappears_is_completed() -> None:
    change = compare(a_document(STARTED), a_document())
    assert (change.completed, change.canceled) == ((STARTED,), ())


def test_a_scheduled_event_that_disappears_is_canceled() -> None:
    change = compare(a_document(SCHEDULED), a_document())
    assert (change.completed, change.canceled) == ((), (SCHEDULED,))


def test_a_new_incarnation_alone_is_not_a_change() -> None:
    before = a_document(SCHEDULED, incarnation=40)
    assert not compare(before, a_document(SCHEDULED, incarnation=1)).is_news


def test_a_started_event_does_not_start_again() -> None:
    assert not compare(a_document(STARTED), a_document(STARTED)).is_news


def test_different_events_with_the_same_incarnation_are_a_change() -> None:
    other = an_event(id="B")
    change = compare(a_document(SCHEDULED), a_document(other))
    assert (change.appeared, change.canceled) == ((other,), (SCHEDULED,))


def test_a_change_in_an_unknown_field_is_reported() -> None:
    before = an_event(raw={"Mood": "calm"})
    after = an_event(raw={"Mood": "grim"})
    assert compare(a_document(before), a_document(after)).changed == (after,)


def test_a_status_that_goes_back_is_a_change() -> None:
    change = compare(a_document(STARTED), a_document(SCHEDULED))
    assert change.changed == (SCHEDULED,)
