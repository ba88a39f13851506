"""The copy that is measured is one that rests."""

from __future__ import annotations

from bench import loaded


def test_a_copy_of_many_pods_is_whole_and_rests() -> None:
    figures = loaded.run(300)

    assert (figures.pods, figures.writes) == (300, 0)
    assert figures.bare > 0
    assert 0 < figures.loaded < 3.0
