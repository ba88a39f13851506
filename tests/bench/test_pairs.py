"""When rollouts of pairs are over, and what breaks the invariants of a pair."""

from __future__ import annotations

import msgspec
import pytest

from bench.narrow import Line
from bench.pair_cases import Case, deployments, rollout
from bench.pairs import Counted, Deployment, Ending, Event, Observer, Sized, Stood, Trait, Verdict, judge

CASE = Case("x", pairs=1, size=4, batches=2)
NAME = "pair-000"
OLD, NEW = f"{NAME}-old", f"{NAME}-new"


def a_deployment(name: str, size: int, ready: int, observed: int = 2) -> Line[Deployment]:
    status = {"observedGeneration": observed, "replicas": size, "readyReplicas": ready}
    meta = {"name": name, "uid": name, "resourceVersion": "1", "generation": 2}
    return Line(
        "MODIFIED", msgspec.convert({"metadata": meta, "spec": {"replicas": size}, "status": status}, Deployment)
    )


def a_trait(state: str, batch_state: str = "batchReady", batch: int = 0) -> Line[Trait]:
    tree = rollout(NAME, CASE)
    tree["metadata"] |= {"uid": "u", "resourceVersion": "1"}
    tree["status"] = {"rollingState": state, "batchRollingState": batch_state, "currentBatch": batch}
    return Line("MODIFIED", msgspec.convert(tree, Trait))


def is_over(ending: Ending, *lines: Line[Deployment], trait: Line[Trait] | None = None) -> bool:
    observer = Observer(CASE)
    observer.expect((NAME,), ending)
    for line in lines:
        observer.see_deployment(line)
    if trait is not None:
        observer.see_trait(trait)
    return not observer.unfinished


MOVED = (a_deployment(OLD, 0, 0), a_deployment(NEW, 4, 4))


@pytest.mark.parametrize(
    ("ending", "lines", "trait", "expected"),
    [
        (Ending.PREPARED, (a_deployment(OLD, 4, 4), a_deployment(NEW, 0, 0)), None, True),
        (Ending.PREPARED, (a_deployment(OLD, 4, 3), a_deployment(NEW, 0, 0)), None, False),
        (Ending.MOVED, MOVED, None, True),
        (Ending.MOVED, (a_deployment(OLD, 0, 0, observed=1), MOVED[1]), None, False),
        (Ending.MOVED, (MOVED[0], a_deployment(NEW, 4, 3)), None, False),
        (Ending.SUCCEEDED, MOVED, a_trait("finalising"), False),
        (Ending.SUCCEEDED, MOVED, a_trait("rolloutSucceed"), True),
        (Ending.SUCCEEDED, (MOVED[0], a_deployment(NEW, 4, 3)), a_trait("rolloutSucceed"), False),
        (Ending.AT_GATE, (), a_trait("rollingInBatches"), True),
        (Ending.AT_GATE, (), a_trait("rollingInBatches", "batchVerifying"), False),
        (Ending.TAKEN_UP, (), a_trait("verifyingSpec"), True),
        (Ending.TAKEN_UP, (), a_trait(""), False),
    ],
)
def test_endings(
    ending: Ending, lines: tuple[Line[Deployment], ...], trait: Line[Trait] | None, expected: bool
) -> None:
    assert is_over(ending, *lines, trait=trait) is expected


def test_what_fails_is_waited_for_no_longer_and_is_told() -> None:
    observer = Observer(CASE)
    observer.expect((NAME,), Ending.SUCCEEDED)

    observer.see_trait(a_trait("rolloutFailed"))

    assert (observer.unfinished, observer.failed) == ([], {NAME})


def test_rollouts_that_moved_a_pod_are_counted() -> None:
    observer = Observer(CASE)
    observer.see_deployment(a_deployment(NEW, 0, 0))
    before = observer.moved((NAME,))
    observer.see_deployment(a_deployment(NEW, 2, 0))

    assert (before, observer.moved((NAME, "pair-001"))) == (0, 1)


def the(*steps: tuple[str, int] | int) -> list[Event]:
    """Sizes by Deployment, numbers of batches; pods follow the sizes of the target, and are ready before the next."""
    events: list[Event] = [Sized(1, OLD, 4), Sized(2, NEW, 0)]
    events += [Stood(3 + number, OLD, f"old-{number}", True) for number in range(4)]
    for version, step in enumerate(steps, start=1):
        at = version * 100
        if isinstance(step, int):
            events.append(Counted(at, NAME, step))
            continue
        deployment, size = step
        events.append(Sized(at, deployment, size))
        if deployment == NEW:
            events += [Stood(at + 1 + number, NEW, f"new-{number}", True) for number in range(size)]
    return events


SOUND = (0, (NEW, 2), (OLD, 2), 1, (NEW, 4), (OLD, 0))


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        (the(*SOUND), Verdict()),
        (the((OLD, 2)), Verdict(sums=1, outages=1)),
        (the((NEW, 3)), Verdict(sums=1)),
        (the((NEW, 2), (NEW, 1)), Verdict(turns=1)),
        (the((NEW, 2), (OLD, 2), (OLD, 3)), Verdict(turns=1, outages=0)),
        (the(1, 0), Verdict(turns=1)),
        ([*the((NEW, 2), (OLD, 2)), Stood(150, NEW, "new-0", False)], Verdict(outages=1)),
    ],
    ids=["sound", "shrinks first", "two batches", "target shrinks", "source grows", "goes back", "pod not ready"],
)
def test_invariants(events: list[Event], verdict: Verdict) -> None:
    assert judge(reversed(events), (NAME,), CASE) == verdict


def test_a_pair_is_as_the_contract_wants_it_prepared() -> None:
    source, target = deployments(NAME, CASE)

    assert (source["spec"]["replicas"], target["spec"]["replicas"], target["spec"]["paused"]) == (4, 0, True)
    plan = rollout(NAME, CASE, "http://hook", gate=0)["spec"]["rolloutPlan"]
    assert [each["replicas"] for each in plan["rolloutBatches"]] == [2, 2]
    assert (plan["rolloutWebhooks"][0]["url"], plan["batchPartition"]) == ("http://hook", 0)
    assert CASE.bound == 1.0
