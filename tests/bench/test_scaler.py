"""The bare scaler is correct: what it writes next, from what it has seen and what it has written."""

from __future__ import annotations

import msgspec

from bench.pair_cases import Case, rollout
from bench.pairs import Deployment, Trait
from bench.scaler import Scaler, Size

NAME, OLD, NEW = "pair-000", "pair-000-old", "pair-000-new"


def a_deployment(name: str, size: int, ready: int | None = None, generation: int = 1, **status: int) -> Deployment:
    counts = {"observedGeneration": generation, "replicas": size, "readyReplicas": size if ready is None else ready}
    meta = {"name": name, "uid": name, "resourceVersion": "1", "generation": generation}
    tree = {"metadata": meta, "spec": {"replicas": size}, "status": counts | status}
    return msgspec.convert(tree, Deployment)


def a_scaler(source: Deployment, target: Deployment) -> Scaler:
    """Of four pods in two batches."""
    scaler = Scaler()
    tree = rollout(NAME, Case("x", pairs=1, size=4, batches=2))
    tree["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    scaler.see_trait(msgspec.convert(tree, Trait))
    scaler.see_deployment(source)
    scaler.see_deployment(target)
    return scaler


def test_the_target_grows_by_a_batch_first() -> None:
    assert a_scaler(a_deployment(OLD, 4), a_deployment(NEW, 0)).next(NAME) == Size(NEW, 2)


def test_nothing_follows_a_write_that_is_under_way() -> None:
    scaler = a_scaler(a_deployment(OLD, 4), a_deployment(NEW, 0))
    scaler.next(NAME)

    assert scaler.next(NAME) is None


def test_nothing_follows_a_write_before_its_watch_shows_it() -> None:
    scaler = a_scaler(a_deployment(OLD, 4), a_deployment(NEW, 2))
    scaler.next(NAME)
    scaler.written(NAME, a_deployment(OLD, 2, generation=2))

    assert scaler.next(NAME) is None


def test_the_source_waits_for_the_pods_of_the_target() -> None:
    scaler = a_scaler(a_deployment(OLD, 4), a_deployment(NEW, 2, ready=1))
    waiting = scaler.next(NAME)

    scaler.see_deployment(a_deployment(NEW, 2))

    assert (waiting, scaler.next(NAME)) == (None, Size(OLD, 2))


def test_a_status_of_an_older_spec_tells_nothing() -> None:
    assert a_scaler(a_deployment(OLD, 4), a_deployment(NEW, 2, generation=2, observedGeneration=1)).next(NAME) is None


def test_the_next_batch_waits_until_the_source_has_let_go() -> None:
    scaler = a_scaler(a_deployment(OLD, 2, replicas=3), a_deployment(NEW, 2))
    waiting = scaler.next(NAME)

    scaler.see_deployment(a_deployment(OLD, 2))

    assert (waiting, scaler.next(NAME)) == (None, Size(NEW, 4))


def test_nothing_is_left_at_the_end() -> None:
    assert a_scaler(a_deployment(OLD, 0), a_deployment(NEW, 4)).next(NAME) is None
