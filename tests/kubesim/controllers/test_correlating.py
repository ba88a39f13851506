"""Which Events are written: counted when they repeat, combined when they are many, left out when they are too many."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from kubesim.controllers.event_correlation import BURST, COMBINED, Correlator, Told

NOW = datetime(2030, 1, 1, tzinfo=UTC)


def tell(
    correlator: Correlator, text: str, *, at: float = 0.0, reason: str = "Made", about: str = "web"
) -> Told | None:
    return correlator.told(about, reason, text, f"{about}.{text}", NOW + timedelta(seconds=at))


def test_what_repeats_is_counted_in_the_first_event() -> None:
    correlator = Correlator()

    told = [tell(correlator, "one"), tell(correlator, "two"), tell(correlator, "one", at=5.0)]

    last = told[-1]
    assert last is not None
    assert (last.name, last.count, last.first) == ("web.one", 2, NOW)


def test_the_tenth_different_text_and_later_ones_share_an_event() -> None:
    correlator = Correlator()

    told = [tell(correlator, str(number)) for number in range(12)]

    texts = [each.text for each in told if each is not None]
    assert texts[:9] == [str(number) for number in range(9)]
    assert told[9] is told[10] is told[11]
    assert texts[-1] == f"{COMBINED}11"
    assert told[11] is not None
    assert (told[11].count, told[11].is_combined) == (3, True)


def test_ten_minutes_of_silence_end_the_combining() -> None:
    correlator = Correlator()
    for number in range(12):
        tell(correlator, str(number))

    later = tell(correlator, "again", at=601.0)

    assert later is not None
    assert not later.is_combined


def test_of_one_object_so_many_are_written_at_once_and_one_more_every_five_minutes() -> None:
    correlator = Correlator()

    written = [tell(correlator, str(number), reason=str(number)) is not None for number in range(BURST + 5)]

    assert written == [True] * BURST + [False] * 5
    assert tell(correlator, "other", about="another") is not None
    assert tell(correlator, "late", reason="Late", at=299.0) is None
    assert tell(correlator, "later", reason="Later", at=301.0) is not None
    assert tell(correlator, "latest", reason="Latest", at=302.0) is None


def test_what_is_not_written_is_counted_all_the_same() -> None:
    correlator = Correlator()
    for _ in range(BURST + 5):
        tell(correlator, "one")

    told = tell(correlator, "one", at=301.0)

    assert told is not None
    assert told.count == BURST + 6
