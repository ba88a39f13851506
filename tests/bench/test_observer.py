"""When the observer holds a rollout for finished."""

from __future__ import annotations

import asyncio

from bench.cases import Zone
from bench.narrow import Container, Line, Meta, Pod, PodStatus, Running, Spec, State, StatefulSet, Status
from bench.observer import Observer

ZONE = Zone("group", "a", pods=2, budget=1)
READY = PodStatus("Running", (Container(ready=True, state=State(Running())),))


def a_set(*, observed: int = 2, current: str = "new", update: str = "new") -> Line[StatefulSet]:
    status = Status(observed, 2, 2, current, update)
    return Line("MODIFIED", StatefulSet(Meta("a", "uid", "1", 2), Spec(2), status))


def a_pod(ordinal: int, *, revision: str = "new", status: PodStatus = READY, kind: str = "MODIFIED") -> Line[Pod]:
    labels = {"name": "a", "controller-revision-hash": revision}
    return Line(kind, Pod(Meta(f"a-{ordinal}", f"uid-{ordinal}", "7", 0, labels), status))


def an_observer(*, records: bool = True) -> Observer:
    """All is well at revision `new`, which is generation 2."""
    observer = Observer([ZONE])
    observer.see_set(a_set())
    for ordinal in range(2):
        observer.see_pod(a_pod(ordinal))
    observer.expect({"a": 2}, records=records)
    return observer


def is_finished(observer: Observer) -> bool:
    async def look() -> bool:
        try:
            async with asyncio.timeout(0):
                await observer.finished()
        except TimeoutError:
            return False
        return True

    return asyncio.run(look()) and not observer.unfinished


def test_it_is_finished_when_pods_and_record_have_the_revision() -> None:
    assert is_finished(an_observer())


def test_a_pod_of_the_old_revision_is_left_to_do() -> None:
    observer = an_observer()

    observer.see_pod(a_pod(1, revision="old"))
    observer.expect({"a": 2}, records=True)

    assert not is_finished(observer)


def test_a_pod_that_is_not_ready_or_missing_is_left_to_do() -> None:
    starting, missing = an_observer(), an_observer()

    starting.see_pod(a_pod(1, status=PodStatus("Pending")))
    missing.see_pod(a_pod(1, kind="DELETED"))
    for observer in (starting, missing):
        observer.expect({"a": 2}, records=True)

    assert not is_finished(starting)
    assert not is_finished(missing)


def test_an_old_generation_says_nothing() -> None:
    observer = an_observer()

    observer.expect({"a": 3}, records=True)
    before = is_finished(observer)
    observer.see_set(a_set(observed=3))

    assert not before
    assert is_finished(observer)


def test_the_record_is_waited_for_only_where_somebody_writes_it() -> None:
    recording, deleting = an_observer(), an_observer(records=False)

    for observer, records in ((recording, True), (deleting, False)):
        observer.see_set(a_set(current="old"))
        observer.expect({"a": 2}, records=records)

    assert not is_finished(recording)
    assert is_finished(deleting)


def test_every_event_of_a_pod_is_kept_for_the_judgement() -> None:
    observer = an_observer()

    observer.see_pod(a_pod(1, kind="DELETED"))

    assert [(event.pod, event.ready, event.gone) for event in observer.events] == [
        ("a-0", True, False),
        ("a-1", True, False),
        ("a-1", True, True),
    ]


def test_a_zone_without_a_generation_is_watched_and_not_waited_for() -> None:
    observer = an_observer()

    observer.expect({}, records=True)
    observer.see_pod(a_pod(1, kind="DELETED"))

    assert is_finished(observer)
    assert [event.gone for event in observer.events][-1]
