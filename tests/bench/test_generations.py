"""When environments count as promoted."""

from __future__ import annotations

import asyncio

from msgspec import structs

from bench.generations import Condition, Environment, Observer, Service, ServiceSpec, Spec, Status
from bench.narrow import Line, Meta
from fairlead.contracts.environments.kinds import NAME, ORGANIZATION_NAME

IMAGE = "materialize/environmentd:v26.1.0"
DONE = Status(2, "hash", "hash", IMAGE, (Condition("True", "Applied"),))


def an_environment(name: str = "m", status: Status = DONE, version: int = 1) -> Line[Environment]:
    return Line("MODIFIED", Environment(Meta(name, f"uid-{name}", str(version)), Spec(IMAGE), status))


def is_promoted(observer: Observer) -> bool:
    async def look() -> bool:
        try:
            async with asyncio.timeout(0):
                await observer.promoted()
        except TimeoutError:
            return False
        return True

    return asyncio.run(look())


def test_it_is_promoted_when_the_generation_serves_and_nothing_is_left_to_do() -> None:
    unfinished = (
        structs.replace(DONE, active_generation=1),
        structs.replace(DONE, requested_rollout_hash="next"),
        structs.replace(DONE, last_completed_rollout_hash=None, requested_rollout_hash=None),
        structs.replace(DONE, last_completed_rollout_environmentd_image_ref="older"),
        structs.replace(DONE, conditions=(Condition("Unknown", "Promoting", "Attempting to promote generation 2"),)),
        structs.replace(DONE, conditions=()),
    )

    assert an_environment().object.is_promoted(2)
    assert not any(an_environment(status=status).object.is_promoted(2) for status in unfinished)


def test_all_that_are_expected_are_waited_for_and_no_others() -> None:
    observer = Observer()
    observer.see(an_environment("bystander", Status()))
    observer.expect({"one": 2, "two": 2})

    observer.see(an_environment("one"))
    halfway = is_promoted(observer)
    observer.see(an_environment("two"))

    assert not halfway
    assert is_promoted(observer)


def test_who_was_promoted_before_is_not_waited_for() -> None:
    observer = Observer()
    observer.see(an_environment("one"))

    observer.expect({"one": 2})

    assert is_promoted(observer)


def test_who_is_waited_for_is_told_with_its_reason() -> None:
    observer = Observer()
    observer.see(an_environment("one", Status(conditions=(Condition("Unknown", "Applying"),))))

    observer.expect({"one": 1, "two": 1})

    assert observer.unfinished == ["one: Applying", "two: unknown"]


def test_the_generation_being_promoted_is_in_the_condition() -> None:
    condition = Condition("Unknown", "Promoting", "Attempting to promote generation 12")

    assert Status(conditions=(condition,)).promoting == 12
    assert DONE.promoting is None
    assert Status().promoting is None


def test_only_the_public_service_leads_from_generation_to_generation() -> None:
    public, own = (
        Service(Meta(name, "uid", "1"), ServiceSpec({NAME: "mzr-environmentd-7"}))
        for name in ("mzr-environmentd", "mzr-environmentd-7")
    )

    assert public.selected == 7
    assert own.selected is None
    assert Service(Meta("other", "uid", "1")).selected is None


def test_every_event_is_kept_with_the_environment_that_it_is_about() -> None:
    observer = Observer()

    observer.see(an_environment("one", version=3))
    observer.see(Line("DELETED", Service(Meta("s", "uid", "4", labels={ORGANIZATION_NAME: "one"}))))
    observer.see(Line("ADDED", Service(Meta("foreign", "uid", "5"))))

    assert [(event.version, event.environment, event.gone) for event in observer.events] == [
        (3, "one", False),
        (4, "one", True),
        (5, "", False),
    ]
