"""The life of a simulated pod, as a pure function of its annotations and of time."""

from __future__ import annotations

import pytest

from kubesim.pods import behaviour
from kubesim.pods.behaviour import Behaviour, Defaults, Run, Shape, behaviour_of, turned, wanted

NEW = Run(Shape.NEW, since=0.0, started=0.0)


def life(annotations: dict[str, str], until: float = 20.0, run: Run = NEW, now: float = 0.0) -> list[tuple[float, str]]:
    """Plays a pod's life and tells each change of its shape with its time."""
    says = behaviour_of(annotations, Defaults(ready_after=1.0, gone_after=0.1))
    changes = []
    while now <= until:
        wish = wanted(says, run, now)
        if wish.shape is not run.shape:
            run = turned(run, wish.shape, now)
            changes.append((now, run.shape.name))
        elif wish.until is None:
            break
        else:
            assert wish.until > now, "a pod must not be looked at for ever at the same time"
            now = wish.until
    return changes


def test_a_pod_runs_at_once_and_is_ready_after_the_default_time() -> None:
    assert life({}) == [(0, "RUNNING"), (1, "READY")]


def test_a_pod_that_is_ready_at_once_is_never_shown_as_not_ready() -> None:
    assert life({behaviour.READY_AFTER: "0s"}) == [(0, "READY")]


def test_its_annotation_says_when_it_is_ready() -> None:
    assert life({behaviour.READY_AFTER: "1m30s"}, until=100) == [(0, "RUNNING"), (90, "READY")]


def test_a_held_pod_runs_and_is_not_ready() -> None:
    assert life({behaviour.HOLD: "true"}) == [(0, "RUNNING")]


def test_a_held_pod_is_ready_as_soon_as_it_is_let_go() -> None:
    run = Run(Shape.RUNNING, since=0.0, started=0.0)

    assert life({behaviour.HOLD: "false"}, run=run, now=7.0) == [(7, "READY")]


def test_a_ready_pod_that_is_held_turns_not_ready() -> None:
    run = Run(Shape.READY, since=1.0, started=0.0)

    assert life({behaviour.HOLD: "true"}, run=run, now=7.0) == [(7, "RUNNING")]


def test_an_image_that_cannot_be_pulled_keeps_the_containers_from_starting() -> None:
    assert life({behaviour.IMAGE_PULL: "fail"}) == [(0, "IMAGE")]


def test_containers_start_when_their_image_comes_and_are_ready_after_their_time() -> None:
    run = Run(Shape.IMAGE, since=0.0, started=0.0)

    assert life({}, run=run, now=5.0) == [(5, "RUNNING"), (6, "READY")]


def test_containers_crash_again_and_again() -> None:
    crashing = life({behaviour.CRASH_AFTER: "3s"}, until=13)

    assert crashing == [
        (0, "RUNNING"),
        (1, "READY"),
        (3, "CRASHED"),
        (6, "RUNNING"),
        (7, "READY"),
        (9, "CRASHED"),
        (12, "RUNNING"),
        (13, "READY"),
    ]


def test_containers_recover_after_so_many_crashes() -> None:
    crashing = life({behaviour.CRASH_AFTER: "500ms", behaviour.CRASH_TIMES: "2"})

    assert crashing == [
        (0, "RUNNING"),
        (0.5, "CRASHED"),
        (1, "RUNNING"),
        (1.5, "CRASHED"),
        (2, "RUNNING"),
        (3, "READY"),
    ]


def test_crashes_are_counted() -> None:
    run = turned(Run(Shape.READY, since=1.0, started=0.0, crashes=2), Shape.CRASHED, 5.0)

    assert run.crashes == 3


def test_a_crashed_pod_whose_annotation_is_taken_away_starts_again_at_once() -> None:
    run = Run(Shape.CRASHED, since=3.0, started=0.0, crashes=1)

    assert life({}, run=run, now=3.5) == [(3.5, "RUNNING"), (4.5, "READY")]


def test_a_flapping_pod_turns_ready_and_not_ready() -> None:
    flapping = life({behaviour.FLAP: "2s"}, until=7)

    assert flapping == [(0, "RUNNING"), (1, "READY"), (3, "RUNNING"), (5, "READY"), (7, "RUNNING")]


@pytest.mark.parametrize(
    ("annotations", "field", "want"),
    [
        pytest.param({behaviour.READY_AFTER: "soon"}, "ready_after", 1.0, id="an unreadable duration is absent"),
        pytest.param({behaviour.GONE_AFTER: "-5s"}, "gone_after", 0.0, id="a negative duration is none"),
        pytest.param({behaviour.CRASH_TIMES: "many"}, "crash_times", None, id="an unreadable count is absent"),
        pytest.param({behaviour.CRASH_AFTER: "0s"}, "crash_after", None, id="a crash in no time would never end"),
        pytest.param({behaviour.FLAP: "0s"}, "flap", None, id="nor would flapping"),
        pytest.param({behaviour.HOLD: "yes"}, "hold", False, id="only true means yes"),
    ],
)
def test_what_cannot_be_read_counts_as_absent(annotations: dict[str, str], field: str, want: object) -> None:
    says: Behaviour = behaviour_of(annotations, Defaults(ready_after=1.0, gone_after=0.1))

    assert getattr(says, field) == want
