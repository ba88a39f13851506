"""The operator's own histogram of what it served."""

from __future__ import annotations

from bench.handled import Handled, handled, since, together


def page(route: str, status: int, within: int, count: int, seconds: float) -> str:
    name, labels = "rollout_operator_request_duration_seconds", f'route="{route}",status_code="{status}",ws="false"'
    return (
        f'{name}_bucket{{le="0.005",method="POST",{labels}}} 0.0\n'
        f'{name}_bucket{{method="POST",{labels},le="0.01"}} {within}.0\n'
        f'{name}_bucket{{method="POST",{labels},le="+Inf"}} {count}\n'
        f'{name}_count{{method="POST",{labels}}} {count}.0\n'
        f'{name}_sum{{method="POST",{labels}}} {seconds}\n'
    )


def test_routes_are_read_with_all_their_status_codes() -> None:
    text = page("a", 200, 8, 10, 0.5) + page("a", 500, 1, 2, 0.5) + page("b", 200, 1, 1, 0.25) + "other_sum 7\n"

    assert handled(text) == {"a": Handled(12, 9, 1.0), "b": Handled(1, 1, 0.25)}


def test_what_was_served_between_two_pages_is_the_difference() -> None:
    before, after = handled(page("a", 200, 8, 10, 0.5)), handled(page("a", 200, 9, 12, 1.0) + page("b", 200, 1, 1, 1.0))

    assert since(after, before) == {"a": Handled(2, 1, 0.5), "b": Handled(1, 1, 1.0)}


def test_the_share_and_the_mean_are_of_all_routes_together() -> None:
    both = together([Handled(3, 3, 0.1), Handled(1, 0, 0.3)])

    assert (both.share, both.mean) == (0.75, 0.1)
    assert (Handled().share, Handled().mean) == (0.0, 0.0)
